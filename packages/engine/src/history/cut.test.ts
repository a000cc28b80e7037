import { createIds, type Seq, type StoredEvent } from "@holdfast/protocol";
import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { aHolder, aRunState, aUserMessage } from "@holdfast/testing/fixtures/factories";
import { watchStore } from "@holdfast/testing/contracts/wrapped-stores";
import { fsckFindings, type StoreHarness } from "@holdfast/testing/conformance/harness";
import { hang, says, scriptedModel } from "@holdfast/testing/fakes/scripted-model";
import { manualClock } from "@holdfast/testing/fakes/manual-clock";
import { openRunRig, type RunRig, untilStreamed, until } from "@holdfast/testing/rigs/run-rig";
import { removeInput } from "../run/admit.ts";
import { branch } from "./branch.ts";
import { clear, truncate, textOfEntry } from "./cut.ts";
import { undo } from "./undo.ts";
import { redo } from "./redo.ts";
import { restore, trash } from "./trash.ts";
import { retry } from "./retry.ts";

let harness: StoreHarness;
let rig: RunRig;
const ids = createIds();

/** Three turns (one, two, three), each with its own answer. */
beforeEach(async () => {
  harness = await referenceHarness.open();
  rig = await openRunRig(harness.store, {
    model: scriptedModel((_request, before) => says(`Answer ${before + 1}`)),
  });
  for (const text of ["one", "two", "three"]) {
    await rig.say(text);
    await rig.work();
  }
});
afterEach(() => harness.close());

const texts = (entries: readonly StoredEvent[]) =>
  entries.map(textOfEntry).filter((text) => text !== "");
const visible = async () => texts(await rig.entries());
const target = () => ({ owner: rig.chat.owner, session: rig.chat.session });
const deps = () => ({ log: rig.log, ids });
const everything = ["one", "Answer 1", "two", "Answer 2", "three", "Answer 3"];

async function seqOf(text: string): Promise<Seq> {
  const found = (await rig.entries()).find((entry) => textOfEntry(entry) === text);
  if (found === undefined) throw new Error(`There is no entry ${text}.`);
  return found.seq;
}

describe("[P8] history only appends", () => {
  test("undo hides the last turn, and redo brings it back", async () => {
    await undo(deps(), target());
    expect(await visible()).toEqual(everything.slice(0, 4));
    expect(await rig.chat.row()).toMatchObject({ messageCount: 4, preview: "Answer 2" });
    await redo(deps(), target());
    expect(await visible()).toEqual(everything);
    expect(await rig.chat.row()).toMatchObject({ messageCount: 6, preview: "Answer 3" });
  });

  test("a message that was withdrawn does not end the redo", async () => {
    await undo(deps(), target());
    const { messageId } = await rig.say("never mind");
    await removeInput(rig.log, ids, { ...target(), messageId });
    expect(await redo(deps(), target())).toMatchObject({ status: "committed" });
    expect(await visible()).toEqual(everything);
  });

  test("an entry that follows a cut directly stays when what follows it goes", async () => {
    await clear(deps(), target());
    for (const text of ["directly", "later"]) await rig.chat.commit([aUserMessage(text)]);
    await truncate(deps(), target(), await seqOf("later"));
    expect(await visible()).toEqual(["directly"]);
  });

  test("several undos are redone one by one, last first", async () => {
    await undo(deps(), target());
    await undo(deps(), target());
    expect(await visible()).toEqual(everything.slice(0, 2));
    await redo(deps(), target());
    expect(await visible()).toEqual(everything.slice(0, 4));
    await redo(deps(), target());
    expect(await visible()).toEqual(everything);
    expect(await redo(deps(), target())).toMatchObject({
      status: "refused",
      code: "nothing_to_redo",
    });
  });

  test("a message after an undo follows what remained, and ends the redo", async () => {
    await undo(deps(), target(), 2);
    await rig.say("other");
    await rig.work();
    expect(await visible()).toEqual(["one", "Answer 1", "other", "Answer 4"]);
    expect(await redo(deps(), target())).toMatchObject({
      status: "refused",
      code: "nothing_to_redo",
    });
  });

  test("the model gets what is visible and nothing else", async () => {
    await truncate(deps(), target(), await seqOf("two"));
    await rig.say("again");
    await rig.work();
    expect(await visible()).toEqual(["one", "Answer 1", "again", "Answer 4"]);
  });

  test("clear empties the view and keeps the session, its id and its rows", async () => {
    const before = await rig.chat.events();
    await clear(deps(), target());
    expect(await visible()).toEqual([]);
    expect(await rig.chat.row()).toMatchObject({
      id: rig.chat.session,
      messageCount: 0,
      preview: "",
    });
    expect((await rig.chat.events()).slice(0, before.length)).toEqual(before);
    await redo(deps(), target());
    expect(await visible()).toEqual(everything);
  });

  test("an empty view has nothing to undo, and an invisible entry cannot be cut", async () => {
    await clear(deps(), target());
    expect(await undo(deps(), target())).toMatchObject({
      status: "refused",
      code: "nothing_to_undo",
    });
    expect(await truncate(deps(), target(), 5 as Seq)).toMatchObject({
      status: "refused",
      code: "entry_not_found",
    });
  });

  test("a moved head is reported, and nothing is cut", async () => {
    const { head } = await rig.chat.row();
    const result = await undo(deps(), { ...target(), expectedHead: (head - 1) as Seq });
    expect(result).toMatchObject({ status: "refused", code: "head_moved" });
    expect(await visible()).toEqual(everything);
  });
});

describe("asking again", () => {
  test("retry replaces the last answer", async () => {
    expect(await retry(deps(), target(), { clientId: "again" })).toMatchObject({
      status: "accepted",
    });
    await rig.work();
    expect(await visible()).toEqual([...everything.slice(0, 4), "three", "Answer 4"]);
  });

  test("editing an earlier message replaces everything after it", async () => {
    await retry(deps(), target(), { from: await seqOf("two"), text: "zwei", clientId: "edited" });
    await rig.work();
    expect(await visible()).toEqual(["one", "Answer 1", "zwei", "Answer 4"]);
  });
});

describe("a branch", () => {
  async function branched(at?: Seq) {
    const result = await branch(deps(), target(), { at });
    if (result.status !== "branched") throw new Error(JSON.stringify(result));
    const { owner } = rig.chat;
    const read = async () =>
      texts(
        (await harness.store.reads.entries(owner, result.session, { limit: 100 }))?.entries ?? [],
      );
    return {
      session: result.session,
      read,
      row: () => harness.store.reads.session(owner, result.session),
    };
  }

  test("shows its origin up to the branch point, and continues on its own", async () => {
    const other = await branched(await seqOf("Answer 2"));
    expect(await other.read()).toEqual(everything.slice(0, 4));
    expect(await other.row()).toMatchObject({ messageCount: 4, preview: "Answer 2" });
    await rig.say("elsewhere", { session: other.session });
    rig.runner.notify(rig.chat.owner, other.session);
    await rig.runner.idle();
    expect(await other.read()).toEqual([...everything.slice(0, 4), "elsewhere", "Answer 4"]);
    expect(await visible()).toEqual(everything);
  });

  test("keeps what it saw when its origin is cut", async () => {
    const other = await branched();
    await clear(deps(), target());
    expect(await other.read()).toEqual(everything);
  });

  test("of a branch reads every part from the log it is stored in", async () => {
    const first = await branched(await seqOf("Answer 1"));
    await rig.say("in the first", { session: first.session });
    rig.runner.notify(rig.chat.owner, first.session);
    await rig.runner.idle();
    const result = await branch(deps(), { owner: rig.chat.owner, session: first.session });
    if (result.status !== "branched") throw new Error(JSON.stringify(result));
    const page = await harness.store.reads.entries(rig.chat.owner, result.session, { limit: 100 });
    expect(texts(page?.entries ?? [])).toEqual(["one", "Answer 1", "in the first", "Answer 4"]);
  });
});

test("[P1] two simultaneous retries under one client id both get the one accepted message", async () => {
  const newText = { clientId: "again" };
  const answers = await Promise.all([
    retry(deps(), target(), newText),
    retry(deps(), target(), newText),
  ]);
  const accepted = (await rig.chat.events()).filter(
    ({ type, data }) => type === "input.accepted" && data["clientId"] === "again",
  );
  expect(accepted).toHaveLength(1);
  const { messageId, runId } = accepted[0]!.data;
  for (const answer of answers) expect(answer).toMatchObject({ messageId, runId });
});

test("a session with more queued messages than one commit takes is trashed with all of them, and its run ends once", async () => {
  const waiting = Array.from({ length: 13 }, (_, index) => `${index} ${"w".repeat(700_000)}`);
  const model = scriptedModel([[says("So far"), hang]]);
  const clock = manualClock();
  const busy = await openRunRig(harness.store, { model, clock });
  const { owner, session } = busy.chat;
  const { runId } = await busy.say("Go on");
  busy.runner.notify(owner, session);
  await untilStreamed(busy, "So far");
  for (const text of waiting) await busy.say(text);
  const holding = { ...deps(), holder: () => aHolder() };
  expect(await trash(holding, { owner, session })).toMatchObject({ status: "committed" });
  let hasStopped = false;
  void busy.runner.stop().finally(() => (hasStopped = true));
  await until(async () => {
    await clock.advance(1_000);
    return hasStopped;
  });
  expect(await busy.run(runId)).toMatchObject({ state: "cancelled" });
  expect(await restore(holding, { owner, session })).toMatchObject({ status: "committed" });
  expect(await busy.chat.row()).toMatchObject({ liveRun: null, openDeltas: 0 });
  const visibleTexts = texts(await busy.entries());
  expect(visibleTexts.filter((text) => text.endsWith("w"))).toEqual(waiting);
  expect(visibleTexts.filter((text) => text === "So far")).toHaveLength(1);
  expect(await fsckFindings(harness.store)).toEqual([]);
});

test("[P13] a deletion in parts never separates a message from the end of its run", async () => {
  const watched = watchStore(harness.store);
  const queued = await openRunRig(watched.store, { model: scriptedModel([]) });
  const { chat, log } = queued;
  // Its three events move the limit of a part into the middle of a pair.
  const runId = ids.make("run");
  const { fence } = await chat.lease();
  const claimed = [aRunState(runId, "claimed"), aUserMessage("Hello", undefined, runId)];
  await chat.commit(claimed, { under: { lease: "run", fence } });
  for (let count = 0; count < 600; count += 1) await queued.say(`Message ${count}`);
  const before = watched.trace.length;
  expect(await trash({ log, ids, holder: () => aHolder() }, chat)).toMatchObject({
    status: "committed",
  });
  const parts = watched.trace.slice(before).filter((line) => line.startsWith("sent "));
  expect(parts.map((part) => part.split("+").at(-1))).toEqual(["run.state", "session.trashed"]);
});
