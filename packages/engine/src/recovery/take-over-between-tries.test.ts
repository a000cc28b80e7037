import { backoffMs } from "@holdfast/protocol";
import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { afterEach, beforeEach, expect, test } from "vitest";

import { createLog } from "../log/log.ts";
import { crashingStore, withEvent } from "@holdfast/testing/contracts/wrapped-stores";
import { manualClock } from "@holdfast/testing/fakes/manual-clock";
import { fails, says, scriptedModel } from "@holdfast/testing/fakes/scripted-model";
import { createRunner, openRunRig, until } from "@holdfast/testing/rigs/run-rig";
import { type StoreHarness } from "@holdfast/testing/conformance/harness";

let harness: StoreHarness;
beforeEach(async () => {
  harness = await referenceHarness.open();
});
afterEach(() => harness.close());

test("[P4] a run that is taken over between two tries pauses by its new host's clock", async () => {
  const model = scriptedModel([fails("overloaded"), says("Here.")]);
  const rig = await openRunRig(harness.store, { model });
  const { runId } = await rig.say("Hello");
  const died = Promise.withResolvers<void>();
  const matches = withEvent("run.state", { cause: "scripted_overloaded" });
  const dying = crashingStore(harness.store, { when: "after", matches }, died.resolve);
  const first = createRunner(dying, createLog(dying), { model });
  first.notify(rig.chat.owner, rig.chat.session);
  await died.promise;

  const clock = manualClock();
  const pauses: number[] = [];
  const recording = {
    ...clock,
    sleep(ms: number, signal?: AbortSignal) {
      pauses.push(ms);
      return clock.sleep(ms, signal);
    },
  };
  const pauseMs = backoffMs({ firstMs: 500, longestMs: 30_000 }, 0, () => 0.5);
  const next = createRunner(harness.store, rig.log, { model, dead: () => true, clock: recording });
  await next.sweep();
  await until(() => pauses.includes(pauseMs) || model.requests.length > 1);
  expect(model.requests).toHaveLength(1);
  await clock.advance(pauseMs);
  await next.idle();
  expect(model.requests).toHaveLength(2);
  expect(await rig.run(runId)).toMatchObject({ state: "completed", attempt: 1 });
});
