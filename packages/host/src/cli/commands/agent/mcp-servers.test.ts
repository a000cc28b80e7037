import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openMcpHttpServer } from "@holdfast/testing/host/mcp-http-server";
import { expect, onTestFinished, test } from "vitest";
import { runHere, serveHere } from "../../../../test/support/command-rig.ts";

async function open() {
  const home = mkdtempSync(join(tmpdir(), "holdfast-cli-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const web = await openMcpHttpServer();
  onTestFinished(() => web.close());
  const { settings, close } = await serveHere(home);
  onTestFinished(close);
  const variables = { WIKI_AUTH: "Bearer from-this-shell" };
  const run = (...args: string[]) =>
    runHere(["mcp-servers", ...args], { ...settings, ...variables });
  return { run, web };
}

test("a server with a header from this shell is added, listed, switched off and on, and removed", async () => {
  const { run, web } = await open();
  expect(await run()).toMatchObject({ code: 0, said: "" });
  const added = await run("add", "wiki", web.url, "--header", "Authorization=WIKI_AUTH");
  expect(added).toEqual({ code: 0, said: "Added: wiki\n", told: "" });
  await expect
    .poll(async () => (await run("list")).said)
    .toBe(`wiki\tready, 6 tools\t${web.url}\tadded\n`);
  expect(new Set(web.heard.map(({ authorization }) => authorization))).toEqual(
    new Set(["Bearer from-this-shell"]),
  );
  expect((await run("off", "wiki")).said).toBe("Switched off: wiki\n");
  expect((await run("list")).said).toBe(`wiki\toff\t${web.url}\tadded\n`);
  expect((await run("on", "wiki")).said).toBe("Switched on: wiki\n");
  expect((await run("remove", "wiki")).said).toBe("Removed: wiki\n");
  const gone = await run("remove", "wiki");
  expect(gone.code).toBe(1);
  expect(gone.told).toContain("There is no such MCP server.");
});

test("[safety] a program is shown and not started without --yes", async () => {
  const { run } = await open();
  const command = ["--", "no-such-program", "--flag", "two words"];
  const shown = await run("add", "files", "--network", "none", ...command);
  expect(shown.code).toBe(2);
  expect(shown.said).toBe(
    'The host will start: no-such-program --flag "two words"; has no network\n',
  );
  expect(shown.told).toContain("--yes");
  expect((await run()).said).toBe("");
  expect((await run("add", "files", "--network", "none", "--yes", ...command)).code).toBe(0);
  expect((await run()).said).toContain('no-such-program --flag "two words"');
});

test("what cannot be added is refused in words", async () => {
  const { run } = await open();
  for (const [args, words] of [
    [["add"], "Give a name"],
    [["add", "wiki", "https://wiki.example", "more"], "Give one web address"],
    [["add", "wiki", "https://wiki.example", "--header", "Authorization"], "Write a header as"],
    [["add", "wiki", "https://wiki.example", "--header", "A=UNSET"], "UNSET is not set"],
    [["on"], "Name a server"],
    [["paint"], 'There is no "holdfast mcp-servers paint"'],
  ] as const) {
    const refused = await run(...args);
    expect([refused.code, refused.said]).toEqual([2, ""]);
    expect(refused.told).toContain(words);
  }
});
