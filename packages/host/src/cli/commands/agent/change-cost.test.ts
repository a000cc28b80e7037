import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient, readSharedRereadCost } from "@holdfast/client";
import { openMcpHttpServer } from "@holdfast/testing/host/mcp-http-server";
import { expect, onTestFinished, test } from "vitest";
import { sendAndWait, valueOf } from "../../../../test/support/api-helpers.ts";
import { runHere, serveHere } from "../../../../test/support/command-rig.ts";

test("a change of servers, skills or a project says what it costs the recent conversations that it reaches", async () => {
  const home = mkdtempSync(join(tmpdir(), "holdfast-cli-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const skill = join(home, "skills", "deploy");
  mkdirSync(skill, { recursive: true });
  const file = join(skill, "SKILL.md");
  writeFileSync(file, "---\nname: deploy\ndescription: Deploys.\n---\nDo it.\n");
  const web = await openMcpHttpServer();
  onTestFinished(() => web.close());
  const { settings, close } = await serveHere(home);
  onTestFinished(close);
  const client = createClient({
    baseUrl: settings.HOLDFAST_URL,
    token: settings.HOLDFAST_TOKEN,
  });
  const cli = async (...args: string[]) => (await runHere(args, settings)).said;
  const talk = async (project: string | null) => {
    const body = project === null ? {} : { project };
    const { session } = valueOf(await client.createSession({ body }));
    await sendAndWait({ client }, session.id, `${"high water ".repeat(6_000)}{words:1}`);
  };
  await cli("projects", "add", "Tides", "--text", "All times are UTC.");
  expect(await cli("skills", "off", "deploy")).toBe("Switched off: deploy\n");
  await talk("Tides");
  await talk(null);
  // Nothing was said in it, so it has nothing to send again.
  valueOf(await client.createSession({ body: {} }));

  const both =
    /\nWith their next message, 2 conversations of the last 24 hours will send about [\d,]+ tokens from scratch\.\n$/;
  const one = /\nWith its next message, 1 conversation of the last 24 hours will send about/;
  expect(await cli("mcp-servers", "add", "wiki", web.url)).toMatch(both);
  expect(await cli("mcp-servers", "off", "wiki")).toMatch(both);
  expect(await cli("mcp-servers", "on", "wiki")).toMatch(both);
  expect(await cli("mcp-servers", "remove", "wiki")).toMatch(both);
  // Before it is confirmed.
  expect(await cli("mcp-servers", "add", "files", "--", "no-such-program")).toMatch(both);
  expect(await cli("skills", "on", "deploy")).toMatch(both);
  expect(await cli("skills", "remove", "deploy")).toMatch(both);
  const copy = join(home, "copy", "deploy");
  mkdirSync(copy, { recursive: true });
  writeFileSync(join(copy, "SKILL.md"), "---\nname: deploy\ndescription: Deploys.\n---\nDo it.\n");
  expect(await cli("skills", "install", copy)).toMatch(both);

  expect(await cli("projects", "edit", "Tides", "--text", "All times are local.")).toMatch(one);
  const forNewOnes = await cli("projects", "edit", "Tides", "--for-model", "rehearsal");
  expect(forNewOnes).not.toContain("conversation");
  const notes = join(home, "notes.md");
  writeFileSync(notes, "High water at noon.");
  expect(await cli("projects", "add-file", "Tides", "--file", notes)).toMatch(one);
  expect(await cli("projects", "delete-file", "Tides", "--file", "notes.md")).toMatch(one);
  expect(await cli("projects", "delete", "Tides")).toMatch(one);

  const day = 24 * 60 * 60 * 1000;
  expect(await readSharedRereadCost({ client, now: Date.now })).toMatchObject({ conversations: 2 });
  expect(await readSharedRereadCost({ client, now: () => Date.now() + day })).toBeNull();
});
