import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { type CommandAnswer, executeCommand, parseInput } from "@holdfast/client";
import { ids } from "@holdfast/protocol";
import { chatFrames, type Said } from "@holdfast/testing/host/providers/provider-frames";
import { openProviderServer } from "@holdfast/testing/host/providers/provider-server";
import { describe, expect, onTestFinished, test } from "vitest";

import { followUntil, hasEnded, makeFolder, serveWithClient, valueOf } from "./served-host.ts";
import { shareStore, storeKinds } from "./shared-store.ts";

const call = (name: string, input: object): Said => ({
  call: name,
  id: `call_${name}`,
  input: JSON.stringify(input),
});

/** How a good model fixes the test: it looks for the mistake, reads it, corrects it and runs the test. */
const steps: readonly (readonly Said[])[] = [
  [call("grep", { pattern: "expr" })],
  [call("read_file", { path: "add.sh" })],
  [call("edit_file", { path: "add.sh", old: '"$1" - "$2"', new: '"$1" + "$2"' })],
  [call("write_file", { path: "notes/fix.md", content: "It subtracted.\n" })],
  [call("terminal", { command: "sh test.sh > result.txt && rm old.txt" })],
  [{ text: "The test passes now." }],
];

async function openModel() {
  let step = 0;
  const server = await openProviderServer(({ body }) => {
    if (JSON.stringify(body).includes("Name the conversation"))
      return { frames: chatFrames([{ text: "A sum" }]) };
    step += 1;
    return { frames: chatFrames(steps[(step - 1) % steps.length] ?? []) };
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

const sources = {
  "add.sh": 'expr "$1" - "$2"\n',
  "test.sh": '[ "$(sh add.sh 2 3)" = 5 ] && echo passed\n',
  "old.txt": "An old result.\n",
};

describe.each(storeKinds)("on %s", (kind) => {
  test("an agent fixes a failing test; undo takes the turn and its files back, redo brings both again, and a person's file stays", async () => {
    const project = join(makeFolder(), "project");
    mkdirSync(project);
    for (const [name, text] of Object.entries(sources)) writeFileSync(join(project, name), text);
    const provider = await openModel();
    const { client } = await serveWithClient({
      ...(await shareStore(kind)),
      HOLDFAST_MODEL: "openai-compatible/heron",
      HOLDFAST_OPENAI_BASE_URL: `${provider.url}/v1`,
      HOLDFAST_OPENAI_API_KEY: "a-key",
      HOLDFAST_TOOL_POLICY: "trusted",
      HOLDFAST_WORKSPACE_ROOTS: project,
    });
    const { session } = valueOf(await client.createSession({ body: { workspace: project } }));
    const params = { id: session.id };
    await client.sendMessage({ params, body: { clientId: "one", text: "Fix the failing test." } });
    const allow = async (): Promise<void> => {
      await followUntil(client, session.id, ({ run }) => run?.state === "waiting");
      const [approval] = valueOf(await client.listApprovals()).approvals;
      const yes = { params: { id: approval!.approvalId }, body: { decision: "once" as const } };
      valueOf(await client.answerApproval(yes));
      await followUntil(client, session.id, hasEnded);
    };
    await allow();
    const read = (name: string): string | null =>
      existsSync(join(project, name)) ? readFileSync(join(project, name), "utf8") : null;
    const changed = ["add.sh", "notes/fix.md", "result.txt", "old.txt"];
    const fixed = ['expr "$1" + "$2"\n', "It subtracted.\n", "passed\n", null];
    expect(changed.map(read)).toEqual(fixed);

    const view = valueOf(await client.readFileChanges({ params, query: {} }));
    expect(view.files.map(({ path, change, undo }) => [path, change, undo])).toEqual([
      ["add.sh", "changed", "restore"],
      ["notes/fix.md", "created", "restore"],
      ["old.txt", "deleted", "restore"],
      ["result.txt", "created", "restore"],
    ]);
    expect(view.files[0]?.diff).toContain('-expr "$1" - "$2"\n+expr "$1" + "$2"');

    const undone = valueOf(await client.undo({ params, body: { files: "restore" } }));
    expect(undone).toMatchObject({ session: { messageCount: 0 }, files: { count: 4, kept: [] } });
    expect(changed.map(read)).toEqual([sources["add.sh"], null, null, sources["old.txt"]]);

    const redone = valueOf(await client.redo({ params, body: { files: "restore" } }));
    expect(redone.files).toMatchObject({ count: 4, kept: [] });
    expect(redone.session.messageCount).toBeGreaterThan(1);
    expect(changed.map(read)).toEqual(fixed);

    const original = [sources["add.sh"], null, null, sources["old.txt"]];
    const type = (text: string): Promise<CommandAnswer> => {
      const typed = parseInput(text);
      if (typed.kind !== "command") throw new Error(`${text} is ${typed.kind}`);
      const context = { client, sessionId: session.id, key: ids.make("message"), now: Date.now };
      return executeCommand(context, typed.invocation);
    };
    expect(await type("/undo files only")).toMatchObject({
      kind: "files",
      conversation: "kept",
      files: { count: 4, kept: [] },
      session: { messageCount: redone.session.messageCount },
    });
    expect(changed.map(read)).toEqual(original);
    expect(await type("/edit Fix it once more.")).toMatchObject({ kind: "sent" });
    await allow();
    expect(changed.map(read)).toEqual(fixed);
    expect(await type("/alternatives 1")).toEqual({ kind: "files_left", number: 1, count: 4 });
    expect(changed.map(read)).toEqual(fixed);
    expect(await type("/alternatives 1 files")).toMatchObject({ files: { count: 4, kept: [] } });
    expect(changed.map(read)).toEqual(original);
    expect(await type("/alternatives 2 files")).toMatchObject({
      cause: "switch",
      files: { count: 4 },
    });
    expect(changed.map(read)).toEqual(fixed);
    expect(await type("/undo files")).toMatchObject({ conversation: "changed" });
    expect(await type("/redo files")).toMatchObject({ cause: "redo", files: { count: 4 } });
    expect(changed.map(read)).toEqual(fixed);

    writeFileSync(join(project, "add.sh"), "A person's own.\n");
    const headers = { "idempotency-key": "again" };
    const again = valueOf(await client.undoFiles({ params, headers, body: {} }));
    expect(again.files).toMatchObject({
      count: 3,
      kept: [{ path: "add.sh", reason: "changed" }],
    });
    expect(changed.map(read)).toEqual(["A person's own.\n", null, null, sources["old.txt"]]);
    expect(valueOf(await client.undoFiles({ params, headers, body: {} })).seq).toBe(again.seq);

    // The model, whose calls stay before it, is told that the files are not as it left them.
    const told = () =>
      provider.requests.filter(({ body }) => JSON.stringify(body).includes("files were restored"));
    expect(told()).toEqual([]);
    await client.sendMessage({ params, body: { clientId: "two", text: "And now?" } });
    await expect.poll(() => told().length).toBeGreaterThan(0);
    expect(JSON.stringify(told()[0]?.body)).toContain("[host: 3 files were restored: ");
  });
});
