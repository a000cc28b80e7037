import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startHost } from "@holdfast/testing/process/start-process";
import { expect, onTestFinished, test } from "vitest";

/** Writes the name of each package that a process loads to a file. */
const recordPackages = `
  import { appendFileSync } from "node:fs";
  import { registerHooks } from "node:module";
  registerHooks({
    load(url, context, next) {
      const [, name] = /.*\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url) ?? [];
      if (name !== undefined) appendFileSync(process.env.LOADED_PACKAGES, name + "\\n");
      return next(url, context);
    },
  });`;

function start(...args: string[]) {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-loaded-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "packages");
  const env = {
    HOLDFAST_HOME: join(folder, "home"),
    HOLDFAST_PORT: "0",
    HOLDFAST_MODEL: "rehearsal",
    LOADED_PACKAGES: file,
    NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(recordPackages)}`,
  };
  const command = startHost(args, { env });
  return {
    command,
    loaded: () => readFileSync(file, { encoding: "utf8", flag: "a+" }).split("\n"),
  };
}

const terminalPackages = ["string-width", "wrap-ansi", "cli-truncate", "marked"];

test("a serving host loads no packages for terminals", async () => {
  const { command, loaded } = start("serve", "--roles", "runner");
  await command.saying(/Holdfast works as runner/);
  expect(loaded().filter((name) => terminalPackages.includes(name))).toEqual([]);
  command.signal("SIGTERM");
  expect(await command.exited).toMatchObject({ code: 0 });
});

test.each([
  ["a run over a pipe", ["run", "{words:2}"], []],
  ["a completion", ["__complete", "session", "x"], []],
  ["a list of sessions", ["sessions", "list"], ["cli-truncate", "string-width"]],
])("%s loads only the terminal packages that it uses", async (_, args, expected) => {
  const { command, loaded } = start(...args);
  expect(await command.exited).toMatchObject({ code: 0 });
  const found = new Set(loaded().filter((name) => terminalPackages.includes(name)));
  expect([...found].toSorted()).toEqual(expected);
});
