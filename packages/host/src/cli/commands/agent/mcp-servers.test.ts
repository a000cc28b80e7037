import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openMcpHttpServer } from "@holdfast/testing/host/mcp-http-server";
import { openOAuthServer } from "@holdfast/testing/host/oauth-server";
import { expect, onTestFinished, test } from "vitest";
import { runHere, serveHere } from "../../../../test/support/command-rig.ts";

async function open(environment: Readonly<Record<string, string>> = {}) {
  const home = mkdtempSync(join(tmpdir(), "holdfast-cli-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const web = await openMcpHttpServer();
  onTestFinished(() => web.close());
  const { settings, close } = await serveHere(home, environment);
  onTestFinished(close);
  const variables = { WIKI_AUTH: "Bearer from-this-shell" };
  const run = (...args: string[]) =>
    runHere(["mcp-servers", ...args], { ...settings, ...variables });
  const doctor = async () => (await runHere(["doctor"], settings)).said;
  return { run, doctor, web };
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

test("a server is signed in to by a printed link and signed out of, and doctor says when it is needed", async () => {
  const server = await openOAuthServer();
  onTestFinished(() => server.close());
  const { run, doctor } = await open({ HOLDFAST_EGRESS_ALLOW: server.host });
  await run("add", "wiki", server.mcp.url);
  const listed = async () => (await run("list")).said;
  await expect.poll(listed).toContain("holdfast mcp-servers sign-in wiki");
  expect(await doctor()).toMatch(/wiki.*needs you to sign in[^]*holdfast mcp-servers sign-in wiki/);
  const begun = await run("sign-in", "wiki");
  const [link = ""] = /http\S+/.exec(begun.said) ?? [];
  const back = server.allow(link);
  // What an authorisation server reads that knows clients by their address.
  const document = await fetch(new URL("client.json", new URL(".", back)));
  expect(await document.json()).toMatchObject({
    client_id: document.url,
    redirect_uris: [`${back.origin}${back.pathname}`],
    token_endpoint_auth_method: "none",
  });
  expect(await (await fetch(back)).text()).toContain("Signed in to wiki");
  await expect.poll(listed).toContain("signed in");
  expect(await doctor()).not.toContain("needs you to sign in");
  expect(await run("sign-out", "wiki")).toMatchObject({ code: 0, said: "Signed out: wiki\n" });
  await expect.poll(listed).toContain("holdfast mcp-servers sign-in wiki");
  expect((await run("sign-in", "nobody")).code).toBe(1);
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
