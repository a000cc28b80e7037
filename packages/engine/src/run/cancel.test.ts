import { ids } from "@holdfast/protocol";
import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { restore, trash } from "../history/trash.ts";
import { aHolder } from "@holdfast/testing/fixtures/factories";
import {
  createTool,
  createGate,
  okResult,
  untilStreamed,
  transcriptLines,
  openRunRig,
} from "@holdfast/testing/rigs/run-rig";
import { calls, fails, hang, says, scriptedModel } from "@holdfast/testing/fakes/scripted-model";
import { manualClock } from "@holdfast/testing/fakes/manual-clock";
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
