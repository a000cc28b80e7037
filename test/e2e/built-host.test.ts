import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient } from "@holdfast/client";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { requirePage } from "./page/require-page.ts";
import { startProcess } from "@holdfast/testing/process/start-process";
import {
  followUntil,
  hasEnded,
  makeFolder,
  serveWithClient,
  settingsFor,
  valueOf,
} from "./served-host.ts";

beforeEach(requirePage);

const repository = fileURLToPath(new URL("../..", import.meta.url));

/** Next to the packages that it loads from node_modules. */
function makeDist(): string {
  const dist = join(repository, "node_modules/.cache/holdfast", `built-${process.pid}`);
  mkdirSync(dist, { recursive: true });
  onTestFinished(() => rmSync(dist, { recursive: true, force: true }));
  return dist;
}

test("the built host serves its page, answers, searches, and backs up its store", async () => {
  const dist = makeDist();
  const build = startProcess(["scripts/build-host.mjs", dist]);
  expect({ ...(await build.exited), stderr: build.stderr() }).toMatchObject({ code: 0 });

  const home = join(makeFolder(), "home");
  const env = settingsFor({ HOLDFAST_HOME: home, HOLDFAST_TOKEN: "a-token-for-this-test" });
  const host = startProcess([join(dist, "main.js"), "serve"], { env });
  const line = await host.line((text) => text.startsWith("Holdfast is at "));
  const baseUrl = /^Holdfast is at (\S+)#/.exec(line)?.[1] ?? "";
  expect((await fetch(baseUrl)).headers.get("content-type")).toContain("text/html");

  const client = createClient({ baseUrl, token: "a-token-for-this-test" });
  const { session } = valueOf(await client.createSession({ body: {} }));
  const params = { id: session.id };
  const text = "{words:3} about marmalade";
  valueOf(await client.sendMessage({ params, body: { clientId: "first", text } }));
  const answers = async () =>
    valueOf(await client.readSession({ params })).entries.filter(
      (entry) => entry.type === "message" && entry.role === "assistant",
    );
  await expect.poll(answers).toHaveLength(1);
  // The reader and search threads are part of the build.
  await expect
    .poll(async () => valueOf(await client.search({ query: { q: "marmalade" } })).hits.length)
    .toBeGreaterThan(0);
  valueOf(await client.backup({}));
  expect(readdirSync(join(home, "backups"))).toHaveLength(1);
  host.signal("SIGTERM");
  expect({ ...(await host.exited), stderr: host.stderr() }).toMatchObject({ code: 0, stderr: "" });
});

/** Preloaded into a host: records which modules its main thread loads. */
const noteModules = `
  import { appendFileSync } from "node:fs";
  import { registerHooks } from "node:module";
  import { isMainThread } from "node:worker_threads";
  if (isMainThread) registerHooks({
    load(url, context, next) {
      appendFileSync(process.env.MODULES_FILE, url + "\\n");
      return next(url, context);
    },
  });
`;

test("a host loads no package when it starts, and a tool loads what it needs", async () => {
  const modules = join(makeFolder(), "modules");
  const { client } = await serveWithClient({
    HOLDFAST_MODEL: "rehearsal",
    HOLDFAST_TOOL_RULES: "allow write_file",
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(noteModules)}`,
    MODULES_FILE: modules,
  });
  const loaded = () => readFileSync(modules, "utf8").trim().split("\n");
  const packages = () =>
    loaded().flatMap((url) => /.*\/node_modules\/(\w[^/]*)/.exec(url)?.[1] ?? []);
  expect(loaded().some((url) => url.endsWith(".js"))).toBe(true);
  expect(packages()).toEqual([]);

  const { session } = valueOf(await client.createSession({ body: {} }));
  const params = { id: session.id };
  const ask = async (clientId: string, tool: string, input: object) => {
    const text = `{tool:${tool} ${JSON.stringify(input)}}`;
    valueOf(await client.sendMessage({ params, body: { clientId, text } }));
    await followUntil(client, session.id, hasEnded);
    return JSON.stringify(valueOf(await client.readSession({ params })).entries);
  };
  expect(await ask("1", "write_file", { path: "a.md", content: "x" })).toContain("Made a.md");
  expect(packages()).toContain("diff");
  expect(await ask("2", "grep", { pattern: "x" })).toContain("a.md:1: x");
  // The search thread loaded it, not the main thread.
  expect(packages()).not.toContain("ignore");
});
