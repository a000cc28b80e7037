import { gate, says, type Script } from "@holdfast/testing/fakes/scripted-model";
import { ids, runId, type SessionId } from "@holdfast/protocol";
import { describe, expect, onTestFinished, test } from "vitest";

import { type ApiRig, type ApiRigOptions, openApi } from "../../../test/support/api-rig.ts";
import {
  sendAndWait,
  newSession,
  shownTexts,
  untilEnded,
  untilStreaming,
  valueOf,
} from "../../../test/support/api-helpers.ts";

function open(script: Script, options: ApiRigOptions = {}): ApiRig {
  const rig = openApi(script, options);
  onTestFinished(async () => {
    await rig.close();
    expect(rig.bugs).toEqual([]);
  });
  return rig;
}

const answers: Script = (_request, before) => says(`Answer ${before + 1}`);

async function talk(...texts: readonly string[]) {
  const rig = open(answers);
  const id = await newSession(rig);
  await sendAndWait(rig, id, ...texts);
  return { rig, id, client: rig.client };
}

async function seqOf({ client }: ApiRig, id: SessionId, index: number) {
  const { entries } = valueOf(await client.readSession({ params: { id } }));
  return entries[index]!.seq;
}

test("[P8] undo, redo, truncate and clear only cut the view, and each can be reverted", async () => {
  const { rig, id, client } = await talk("one", "two");
  const everything = ["one", "Answer 1", "two", "Answer 2"];
  const params = { id };
  const before = valueOf(await client.readSession({ params }));

  const undone = valueOf(await client.undo({ params, body: {} }));
  expect(undone.session).toMatchObject({ messageCount: 2, preview: "Answer 1" });
  expect(undone.seq).toBe(before.seq + 1);
  expect(await shownTexts(rig, id)).toEqual(everything.slice(0, 2));
  valueOf(await client.redo({ params, body: {} }));
  expect(await shownTexts(rig, id)).toEqual(everything);

  valueOf(await client.truncate({ params, body: { from: await seqOf(rig, id, 1) } }));
  expect(await shownTexts(rig, id)).toEqual(["one"]);
  valueOf(await client.clear({ params, body: {} }));
  expect(await shownTexts(rig, id)).toEqual([]);
  expect(await client.undo({ params, body: {} })).toMatchObject({
    error: { code: "nothing_to_undo" },
  });
  for (const _ of ["clear", "truncate"]) valueOf(await client.redo({ params, body: {} }));
  expect(await shownTexts(rig, id)).toEqual(everything);
  expect(await client.redo({ params, body: {} })).toMatchObject({
    error: { code: "nothing_to_redo" },
  });
});

test("any message can be retried, as it was or reworded", async () => {
  const { rig, id, client } = await talk("one", "two");
  const params = { id };
  valueOf(await client.retry({ params, body: {} }));
  await untilEnded(rig, id);
  expect(await shownTexts(rig, id)).toEqual(["one", "Answer 1", "two", "Answer 3"]);
  const from = await seqOf(rig, id, 0);
  valueOf(await client.retry({ params, body: { from, text: "eins" } }));
  await untilEnded(rig, id);
  expect(await shownTexts(rig, id)).toEqual(["eins", "Answer 4"]);
  expect(await client.retry({ params, body: { from } })).toMatchObject({
    error: { code: "entry_not_found" },
  });
});

test("[P13] every version of an edited turn is listed, and another one can be shown", async () => {
  const { rig, id, client } = await talk("one", "two");
  const params = { id };
  const from = await seqOf(rig, id, 0);
  valueOf(await client.retry({ params, body: { from, text: "eins" } }));
  await untilEnded(rig, id);
  const { turns } = valueOf(await client.listAlternatives({ params }));
  expect(turns).toMatchObject([
    {
      alternatives: [
        { text: "one", answer: "Answer 1", inView: false },
        { text: "eins", answer: "Answer 3", inView: true },
      ],
    },
  ]);
  const read = valueOf(await client.readSession({ params }));
  const versions = turns[0]!.alternatives.map(({ messageId, seq }) => ({ messageId, seq }));
  expect(read.session.alternatives).toMatchObject([versions]);
  const { messageId } = versions[0]!;
  const body = { messageId, expectedHead: read.seq };
  const switched = valueOf(await client.switchAlternative({ params, body }));
  expect(switched).toMatchObject({ session: { messageCount: 4, preview: "Answer 2" } });
  expect(await shownTexts(rig, id)).toEqual(["one", "Answer 1", "two", "Answer 2"]);
  const late = { messageId: versions[1]!.messageId, expectedHead: read.seq };
  expect(await client.switchAlternative({ params, body: late })).toMatchObject({
    error: { code: "head_moved" },
  });
  const unknown = { messageId: ids.make("message") };
  expect(await client.switchAlternative({ params, body: unknown })).toMatchObject({
    error: { code: "entry_not_found" },
  });
  // The files of the version in view can be brought until something is said after it was chosen.
  const withFiles = { params, body: { messageId, files: "restore" as const } };
  expect(valueOf(await client.switchAlternative(withFiles))).toMatchObject({ files: { count: 0 } });
  await sendAndWait(rig, id, "three");
  expect(await client.switchAlternative(withFiles)).toMatchObject({
    error: { code: "entry_not_found" },
  });
  const list = valueOf(await client.listSessions({ query: {} }));
  expect(list.sessions[0]).not.toHaveProperty("alternatives");
});

test("a message is asked again with another model, and not with one that does not exist", async () => {
  const rig = open(answers, { environment: {} });
  const id = await newSession(rig);
  const params = { id };
  await sendAndWait(rig, id, "one");
  const unknown = { model: "nobody/nothing" };
  expect(await rig.client.retry({ params, body: unknown })).toMatchObject({
    error: { code: "model_unknown" },
  });
  expect(await shownTexts(rig, id)).toEqual(["one", "Answer 1"]);
  valueOf(await rig.client.retry({ params, body: { model: "rehearsal" } }));
  await untilEnded(rig, id);
  expect(await shownTexts(rig, id)).toEqual(["one", "Answer 2"]);
  expect(valueOf(await rig.client.readSession({ params })).session.model).toBe("rehearsal");
});

test("a branch continues from an entry, a duplicate from the end under its own title", async () => {
  const { rig, id, client } = await talk("one", "two");
  const at = await seqOf(rig, id, 1);
  const branched = valueOf(await client.branch({ params: { id }, body: { at } })).session;
  expect(await shownTexts(rig, branched.id)).toEqual(["one", "Answer 1"]);
  expect(branched).toMatchObject({ messageCount: 2, title: "one", titleSource: "derived" });
  const copy = valueOf(await client.duplicate({ params: { id }, body: {} })).session;
  expect(await shownTexts(rig, copy.id)).toEqual(["one", "Answer 1", "two", "Answer 2"]);
  expect(copy).toMatchObject({ messageCount: 4, title: "one (copy)" });
  await sendAndWait(rig, copy.id, "three");
  expect(await shownTexts(rig, id)).toHaveLength(4);
  const beyond = { at: (at + 1_000) as typeof at };
  expect(await client.branch({ params: { id }, body: beyond })).toMatchObject({
    error: { code: "entry_not_found" },
  });
});

/** A finished first turn and a second one whose model has started to answer and continues when released. */
async function openMidAnswer() {
  const go = Promise.withResolvers<void>();
  const script: Script = (_request, before) =>
    before === 1 ? [says("Half"), gate(go.promise), says(" more")] : says(`Answer ${before + 1}`);
  const rig = open(script);
  const id = await newSession(rig);
  await sendAndWait(rig, id, "one");
  const body = { clientId: "two", text: "two" };
  const { runId: run } = valueOf(await rig.client.sendMessage({ params: { id }, body }));
  await untilStreaming(rig, id);
  return { rig, id, client: rig.client, run, params: { id }, go: go.resolve };
}

describe("while a run is live", () => {
  test("[S3.21] a cut is refused, and with interrupt it ends the run first", async () => {
    const { rig, client, params, id, run } = await openMidAnswer();
    const commands = [
      () => client.undo({ params, body: {} }),
      () => client.clear({ params, body: {} }),
      () => client.retry({ params, body: {} }),
    ];
    for (const command of commands)
      expect(await command()).toMatchObject({ error: { code: "run_live" } });
    valueOf(await client.undo({ params, body: { interrupt: true } }));
    expect(await shownTexts(rig, id)).toEqual(["one", "Answer 1"]);
    expect(valueOf(await client.readRun({ params: { id: run } })).run.state).toBe("cancelled");
    valueOf(await client.redo({ params, body: {} }));
    expect(await shownTexts(rig, id)).toEqual(["one", "Answer 1", "two", "Half"]);
  });

  test("[S3.21] a queued message runs after the cut, not into it", async () => {
    const { rig, client, params, id } = await openMidAnswer();
    const body = { clientId: "later", text: "later" };
    valueOf(await client.sendMessage({ params, body }));
    valueOf(await client.undo({ params, body: { interrupt: true } }));
    await untilEnded(rig, id);
    expect(await shownTexts(rig, id)).toEqual(["one", "Answer 1", "later", "Answer 3"]);
  });

  test("an impossible command interrupts nothing", async () => {
    const { rig, client, params, id, run, go } = await openMidAnswer();
    const from = await seqOf(rig, id, 0);
    const wrong = { from: (from + 1_000) as typeof from, interrupt: true };
    expect(await client.truncate({ params, body: wrong })).toMatchObject({
      error: { code: "entry_not_found" },
    });
    const { seq } = valueOf(await client.readSession({ params }));
    const before = (seq - 100) as typeof seq;
    const stale = { interrupt: true, expectedHead: (before < 0 ? 0 : before) as typeof seq };
    expect(await client.clear({ params, body: stale })).toMatchObject({
      error: { code: "head_moved" },
    });
    go();
    const state = await untilEnded(rig, id);
    expect(state.run).toMatchObject({ id: run, state: "completed" });
  });

  test("a reworded retry replaces the answer being written", async () => {
    const { rig, client, params, id } = await openMidAnswer();
    valueOf(await client.retry({ params, body: { text: "zwei", interrupt: true } }));
    await untilEnded(rig, id);
    expect(await shownTexts(rig, id)).toEqual(["one", "Answer 1", "zwei", "Answer 3"]);
  });
});

describe("a trashed session", () => {
  test("ends its run, and is restored settled with nothing restarting by itself", async () => {
    const { rig, client, params, id, run, go } = await openMidAnswer();
    valueOf(await client.sendMessage({ params, body: { clientId: "later", text: "later" } }));
    const trashed = valueOf(await client.trashSession({ params })).session;
    expect(trashed).toMatchObject({ liveRun: null, lastState: "cancelled" });
    expect(trashed.trashedAt).not.toBeNull();
    go();
    expect(valueOf(await client.readRun({ params: { id: run } })).run).toMatchObject({
      state: "cancelled",
      cause: "trashed",
    });
    valueOf(await client.restoreSession({ params }));
    const read = valueOf(await client.readSession({ params }));
    expect(read).toMatchObject({ inbox: [], live: null });
    expect(await shownTexts(rig, id)).toEqual(["one", "Answer 1", "two", "Half", "later"]);
    const notices = read.entries.flatMap((entry) => (entry.type === "notice" ? [entry.kind] : []));
    expect(notices).toEqual(["cut_off", "not_answered"]);
    expect(rig.model.requests).toHaveLength(2);
  });
});

describe("a finished run", () => {
  test("is continued by a run that names it, once per key", async () => {
    const { rig, client, id, run } = await openMidAnswer();
    valueOf(await client.cancelRun({ params: { id: run } }));
    await untilEnded(rig, id);
    const again = { params: { id: run }, headers: { "idempotency-key": "go-on" } };
    const first = valueOf(await client.resumeRun(again)).run;
    expect(first.continues).toBe(run);
    await untilEnded(rig, id);
    expect(valueOf(await client.resumeRun(again)).run.id).toBe(first.id);
    expect(await shownTexts(rig, id)).toEqual(["one", "Answer 1", "two", "Half", "Answer 3"]);
    expect(await client.resumeRun({ params: { id: first.id } })).toMatchObject({
      error: { code: "run_ended" },
    });
    expect(await client.resumeRun({ params: { id: run } })).toMatchObject({
      error: { code: "head_moved" },
    });
    const nobody = runId.parse("run_00000000000000000000000000");
    expect(await client.resumeRun({ params: { id: nobody } })).toMatchObject({
      error: { code: "run_not_found" },
    });
  });

  test("is not continued while another run is live", async () => {
    const { client, run } = await openMidAnswer();
    expect(await client.resumeRun({ params: { id: run } })).toMatchObject({
      error: { code: "run_live" },
    });
  });
});
