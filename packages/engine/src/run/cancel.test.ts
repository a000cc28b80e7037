import { ids } from "@holdfast/protocol";
import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { restore, trash } from "../history/trash.ts";
import { createLog } from "../log/log.ts";
import { watchStore } from "@holdfast/testing/contracts/wrapped-stores";
import { aHolder } from "@holdfast/testing/fixtures/factories";
import {
  createTool,
  createGate,
  okResult,
  untilStreamed,
  transcriptLines,
  until,
  openRunRig,
} from "@holdfast/testing/rigs/run-rig";
import {
  calls,
  fails,
  gate,
  hang,
  says,
  scriptedModel,
} from "@holdfast/testing/fakes/scripted-model";
import { manualClock, nextTurn } from "@holdfast/testing/fakes/manual-clock";
import { type StoreHarness } from "@holdfast/testing/conformance/harness";
import { requestCancel } from "./cancel.ts";
import { resumeRun } from "./resume.ts";

let harness: StoreHarness;
beforeEach(async () => {
  harness = await referenceHarness.open();
});
afterEach(() => harness.close());

describe("cancel", () => {
  test("[P6] output stays, the run ends as cancelled, and asking again changes nothing", async () => {
    const clock = manualClock();
    const rig = await openRunRig(harness.store, {
      model: scriptedModel([[says("So far"), hang]]),
      clock,
    });
    const { runId } = await rig.say("Talk");
    rig.runner.notify(rig.chat.owner, rig.chat.session);
    await untilStreamed(rig, "So far");
    rig.runner.start();
    expect(await requestCancel(rig.log, ids, rig.chat.owner, runId)).toEqual({
      status: "requested",
    });
    expect(await requestCancel(rig.log, ids, rig.chat.owner, runId)).toEqual({
      status: "requested",
    });
    await clock.advance(600);
    await clock.advance(5_000);
    await rig.runner.idle();
    await rig.runner.stop();
    expect(await rig.run(runId)).toMatchObject({ state: "cancelled" });
    expect(transcriptLines(await rig.entries())).toEqual(["user: Talk", "assistant: So far"]);
    expect((await rig.entries()).at(-1)?.data["partial"]).toBe("cancelled");
    expect(await requestCancel(rig.log, ids, rig.chat.owner, runId)).toEqual({ status: "ended" });
  });

  test("[P6] a cancel is confirmed once it is durable, and not before", async () => {
    const watched = watchStore(harness.store);
    const answer = createGate();
    const model = scriptedModel([[says("So far"), gate(answer.promise)]]);
    const rig = await openRunRig(watched.store, { model });
    const { runId } = await rig.say("Talk");
    rig.runner.notify(rig.chat.owner, rig.chat.session);
    await untilStreamed(rig, "So far");
    const held = watched.holdNext("run.cancel");
    let confirmed: unknown;
    const cancelling = requestCancel(rig.log, ids, rig.chat.owner, runId).then(
      (result) => (confirmed = result),
    );
    await held.reached;
    for (let turns = 0; turns < 20; turns += 1) await nextTurn();
    expect([confirmed, (await rig.run(runId)).cancelRequested]).toEqual([undefined, false]);
    held.release();
    expect(await cancelling).toEqual({ status: "requested" });
    expect((await rig.run(runId)).cancelRequested).toBe(true);
    answer.open();
    await rig.runner.idle();
  });

  test("[P6] a streaming run learns of a cancel from its next commit, without a poll", async () => {
    const clock = manualClock();
    const [cancelled, noticed] = [createGate(), createGate()];
    const reply = [
      says("One "),
      gate(cancelled.promise),
      says("two "),
      gate(noticed.promise),
      says("three"),
    ];
    const rig = await openRunRig(harness.store, { model: scriptedModel([reply]), clock });
    const { runId } = await rig.say("Count");
    rig.runner.notify(rig.chat.owner, rig.chat.session);
    await untilStreamed(rig, "One ");
    await requestCancel(rig.log, ids, rig.chat.owner, runId);
    cancelled.open();
    await until(async () => {
      await clock.advance(50);
      return JSON.stringify(await rig.chat.events()).includes("two ");
    });
    for (let turns = 0; turns < 50; turns += 1) await nextTurn();
    noticed.open();
    await rig.runner.idle();
    expect(await rig.run(runId)).toMatchObject({ state: "cancelled" });
    expect(transcriptLines(await rig.entries())).toEqual(["user: Count", "assistant: One two "]);
  });

  test("[P6] an answer whose run is cancelled just before its end is kept", async () => {
    const watched = watchStore(harness.store);
    const rig = await openRunRig(watched.store, { model: scriptedModel([says("All of it.")]) });
    const { runId } = await rig.say("Talk");
    const end = watched.holdNext("message.assistant");
    rig.runner.notify(rig.chat.owner, rig.chat.session);
    await end.reached;
    await requestCancel(createLog(harness.store), ids, rig.chat.owner, runId);
    end.release();
    await rig.runner.idle();
    expect(await rig.run(runId)).toMatchObject({ state: "cancelled" });
    expect(transcriptLines(await rig.entries())).toEqual(["user: Talk", "assistant: All of it."]);
  });

  test("[P6] a model that ignores its cancel is fenced out", async () => {
    const watched = watchStore(harness.store);
    const clock = manualClock();
    const model = scriptedModel([[says("So far"), hang]]);
    const rig = await openRunRig(watched.store, { model, clock });
    const { runId } = await rig.say("Talk");
    rig.runner.notify(rig.chat.owner, rig.chat.session);
    await untilStreamed(rig, "So far");
    await requestCancel(rig.log, ids, rig.chat.owner, runId);
    rig.runner.notify(rig.chat.owner, rig.chat.session);
    await until(async () => {
      await clock.advance(1_000);
      return (await rig.run(runId)).state === "cancelled";
    });
    await rig.runner.idle();
    expect(watched.fences.at(-1)).toBeGreaterThan(watched.fences[0] ?? Infinity);
  });

  test("a queued message is withdrawn, and its run never starts", async () => {
    const rig = await openRunRig(harness.store, { model: scriptedModel([]) });
    const { runId } = await rig.say("Never mind");
    expect(await requestCancel(rig.log, ids, rig.chat.owner, runId)).toEqual({ status: "ended" });
    await rig.work();
    expect(await rig.entries()).toEqual([]);
    expect((await rig.chat.snapshot()).inbox).toEqual([]);
  });

  const askFirst = { approval: () => "ask" as const };
  const notRun = "tool: cancelled The run ended before this was begun, so it was not run.";

  test("[P7] a call nobody was asked about yet is reported as not run", async () => {
    const { promise: started, open: start } = createGate();
    const quick = createTool("quick", async (_call, { signal }) => {
      start();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      return { outcome: "cancelled", output: "" };
    });
    const rig = await openRunRig(harness.store, {
      model: scriptedModel([[calls("quick"), calls("risky")]]),
      tools: [quick, createTool("risky", async () => okResult("done"), askFirst)],
    });
    const { runId } = await rig.say("Both");
    rig.runner.notify(rig.chat.owner, rig.chat.session);
    await started;
    await requestCancel(rig.log, ids, rig.chat.owner, runId);
    await rig.work();
    expect(await rig.run(runId)).toMatchObject({ state: "cancelled" });
    expect(transcriptLines(await rig.entries()).slice(2)).toEqual(["tool: cancelled ", notRun]);
  });

  test("[P7] a call awaiting approval when its session is trashed is reported as not run", async () => {
    const rig = await openRunRig(harness.store, {
      model: scriptedModel([calls("risky")]),
      tools: [createTool("risky", async () => okResult("done"), askFirst)],
    });
    const { owner, session } = rig.chat;
    const { runId } = await rig.say("Do it");
    await rig.work();
    expect(await rig.run(runId)).toMatchObject({ state: "waiting" });
    const deps = { log: rig.log, ids, holder: () => aHolder() };
    expect(await trash(deps, { owner, session })).toMatchObject({ status: "committed" });
    expect(await restore(deps, { owner, session })).toMatchObject({ status: "committed" });
    expect(transcriptLines(await rig.entries()).slice(2)).toEqual([notRun, "notice: cut_off"]);
  });
});

test("a run that two people continue at the same time is continued once", async () => {
  const model = scriptedModel([fails("fatal"), says("Here."), says("Here again.")]);
  const rig = await openRunRig(harness.store, { model });
  const { owner } = rig.chat;
  const { runId } = await rig.say("Go");
  await rig.work();
  const resume = () => resumeRun(rig.log, ids, { owner, runId, command: ids.make("event") });
  const [one, other] = await Promise.all([resume(), resume()]);
  expect(one).toMatchObject({ status: "resumed" });
  expect(other).toEqual(one);
  await rig.work();
  expect(transcriptLines(await rig.entries()).slice(2)).toEqual(["assistant: Here."]);
});
