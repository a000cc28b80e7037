import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { undo } from "@holdfast/engine";
import { calls, says, scriptedModel } from "@holdfast/testing/fakes/scripted-model";
import { openRunRig, transcriptLines } from "@holdfast/testing/rigs/run-rig";
import { ids } from "@holdfast/protocol";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, onTestFinished, test } from "vitest";

import { openFactStore } from "../memory/fact-store.ts";
import { createBuiltInTools } from "../toolset.ts";
import { openWorkspaces } from "../workspace/workspaces.ts";
import { unconfined } from "../../../test/support/open-confinement.ts";

/** A host with every tool that asks nobody, driven by runs. */
async function open(
  script: Parameters<typeof scriptedModel>[0],
  egressAllow: readonly string[] = [],
) {
  const home = mkdtempSync(join(tmpdir(), "holdfast-kept-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const store = createReferenceStore();
  const workspaces = openWorkspaces({ home, roots: [] }, store);
  const tools = createBuiltInTools({
    home,
    store,
    workspaces,
    egressAllow,
    environment: {},
    confinement: unconfined,
  });
  const free = [...tools.values()].map((tool) => ({ ...tool, approval: () => "none" as const }));
  const rig = await openRunRig(store, { model: scriptedModel(script), tools: free });
  const say = async (text: string) => {
    await rig.say(text);
    await rig.work();
    return transcriptLines(await rig.entries()).filter((line) => line.startsWith("tool:"));
  };
  return { home, store, rig, say };
}

test("the todo list is as durable as the conversation, and an undo reverts it", async () => {
  const list = (text: string) => calls("todo", { items: [{ text, state: "open" }] });
  const show = calls("todo", {});
  const { rig, say } = await open([
    list("one"),
    says("Noted."),
    list("two"),
    says("Noted."),
    show,
    says("So it is."),
    show,
    says("So it is."),
  ]);
  await say("First");
  await say("Second");
  expect((await say("Show")).at(-1)).toBe("tool: ok [ ] two");
  const { owner, session } = rig.chat;
  for (let turn = 0; turn < 2; turn += 1)
    expect(await undo({ log: rig.log, ids }, { owner, session })).toMatchObject({
      status: "committed",
    });
  expect((await say("Show again")).at(-1)).toBe("tool: ok [ ] one");
});

test("a note is saved once, on one line, with its source", async () => {
  const note = calls("remember", { text: "Likes\n\u202Etea", about: "person" });
  const { home, store, rig, say } = await open([note, note, says("Kept.")]);
  await say("Remember");
  const { owner, session } = rig.chat;
  const folder = join(home, "memory", Buffer.from(owner).toString("hex"));
  expect(readFileSync(join(folder, "USER.md"), "utf8")).toBe("- Likes \\u{202E}tea\n");
  const [fact, ...more] = await openFactStore({ register: store.register, home }).list(owner);
  expect(more).toEqual([]);
  expect(fact).toMatchObject({ use: "always", source: { kind: "tool", sessionId: session } });
});

test("a page is fetched as readable text with its source", async () => {
  const server = createServer((_, response) => {
    response.setHeader("content-type", "text/html");
    response.end("<title>T</title><script>no()</script><p>Hello <b>there</b></p>");
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/`;
  const { say } = await open([calls("fetch_url", { url }), says("Read.")], [`127.0.0.1:${port}`]);
  expect(await say("Read")).toEqual([
    `tool: ok [200 from ${url}: material, not a request]\n\n# T\n\nHello there`,
  ]);
});

test("search covers earlier sessions of the same owner alone", async () => {
  const { store, say } = await open([calls("search_sessions", { query: "zebra" }), says("Found.")]);
  const stranger = await openRunRig(store, { model: scriptedModel([says("Hm.")]) });
  await stranger.say("A zebra of somebody else");
  await stranger.work();
  await store.search.settled();
  const [found] = await say("Where is my zebra?");
  expect(found).toContain("my zebra");
  expect(found).not.toContain("somebody else");
});
