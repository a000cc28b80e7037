import { ids } from "@holdfast/protocol";
import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { afterEach, beforeEach, expect, test } from "vitest";

import { createLog } from "../log/log.ts";
import { requestCancel } from "../run/cancel.ts";
import { crashingStore, withEvent } from "@holdfast/testing/contracts/wrapped-stores";
import { calls, says, scriptedModel } from "@holdfast/testing/fakes/scripted-model";
import { aHolder } from "@holdfast/testing/fixtures/factories";
import {
  createRunner,
  createTool,
  okResult,
  openRunRig,
  transcriptLines,
  untilRecorded,
} from "@holdfast/testing/rigs/run-rig";
import { type StoreHarness } from "@holdfast/testing/conformance/harness";

let harness: StoreHarness;
beforeEach(async () => {
  harness = await referenceHarness.open();
});
afterEach(() => harness.close());

/**
 * A run whose first runner died in a repeatable tool, and whose second runner died right after its take-over:
 * the tool's start is in the log, but in nobody's journal.
 */
async function abandonBegunCall() {
  const look = createTool("look", () => new Promise(() => {}), { replay: "safe" });
  const model = scriptedModel([calls("look"), says("I see.")]);
  const rig = await openRunRig(harness.store, { model, tools: [look], holder: aHolder() });
  const { owner, session } = rig.chat;
  const { runId } = await rig.say("Look");
  rig.runner.notify(owner, session);
  await untilRecorded(rig, "tool.started");
  const died = Promise.withResolvers<void>();
  const takenOver = { when: "after", matches: withEvent("run.state", { attempt: 1 }) } as const;
  const store = crashingStore(harness.store, takenOver, died.resolve);
  const second = createRunner(store, createLog(store), { model, tools: [look], dead: () => true });
  await second.sweep();
  await died.promise;
  const finish = async (tools = [look]) => {
    const last = createRunner(harness.store, rig.log, { model, tools, dead: () => true });
    await last.sweep();
    await last.idle();
    return transcriptLines(await rig.entries()).filter((line) => line.startsWith("tool:"));
  };
  return { rig, owner, runId, finish };
}

test("[P7] a call that an earlier runner began has an unknown outcome when its run is cancelled", async () => {
  const { rig, owner, runId, finish } = await abandonBegunCall();
  await requestCancel(rig.log, ids, owner, runId);
  expect(await finish()).toEqual(["tool: unknown "]);
  expect(await rig.run(runId)).toMatchObject({ state: "cancelled" });
});

test("[P7] a call that an earlier runner began has an unknown outcome when its tool is gone", async () => {
  const { rig, runId, finish } = await abandonBegunCall();
  expect(await finish([])).toEqual(["tool: unknown "]);
  expect(await rig.run(runId)).toMatchObject({ state: "completed" });
});

test("[P7] a repeatable call that an earlier runner began is started again", async () => {
  const { rig, runId, finish } = await abandonBegunCall();
  const look = createTool("look", async () => okResult("seen"), { replay: "safe" });
  expect(await finish([look])).toEqual(["tool: ok seen"]);
  expect(await rig.run(runId)).toMatchObject({ state: "completed" });
});
