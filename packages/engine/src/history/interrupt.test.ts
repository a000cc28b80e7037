import { ids } from "@holdfast/protocol";
import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { afterEach, beforeEach, expect, test } from "vitest";

import { gate, says, scriptedModel } from "@holdfast/testing/fakes/scripted-model";
import { aHolder } from "@holdfast/testing/fixtures/factories";
import {
  createGate,
  openRunRig,
  transcriptLines,
  untilStreamed,
} from "@holdfast/testing/rigs/run-rig";
import { type StoreHarness } from "@holdfast/testing/conformance/harness";
import { systemClock } from "../ports/clock.ts";
import { undo } from "./undo.ts";
import { interruptThen } from "./interrupt.ts";

let harness: StoreHarness;
beforeEach(async () => {
  harness = await referenceHarness.open();
});
afterEach(() => harness.close());

test("[P8] a queued message waits for the cut that interrupts the run before it", async () => {
  const model = scriptedModel([[says("Half"), gate(createGate().promise)], says("Answer")]);
  const rig = await openRunRig(harness.store, { model, clock: systemClock });
  const { owner, session } = rig.chat;
  await rig.say("First");
  rig.runner.notify(owner, session);
  await untilStreamed(rig, "Half");
  await rig.say("Queued");
  const deps = {
    log: rig.log,
    ids,
    clock: systemClock,
    holder: () => aHolder(),
    runner: rig.runner,
  };
  const queuedAtCut: number[] = [];
  const cut = await interruptThen(deps, { owner, session }, async (target) => {
    const { run, inbox } = await rig.chat.snapshot();
    if (run === null) {
      // Any runner that would claim the message has had time to.
      await rig.work();
      queuedAtCut.push(inbox.length, (await rig.chat.snapshot()).inbox.length);
    }
    return undo(deps, target);
  });
  expect(cut).toMatchObject({ status: "committed" });
  expect(queuedAtCut).toEqual([1, 1]);
  await rig.work();
  expect(transcriptLines(await rig.entries())).toEqual(["user: Queued", "assistant: Answer"]);
  await rig.runner.stop();
});

test("[P8] nothing is claimed while a conversation is being cut", async () => {
  const rig = await openRunRig(harness.store, { model: scriptedModel([says("Answer")]) });
  const lease = await rig.chat.lease("history");
  await rig.say("Hello");
  await rig.work();
  expect((await rig.chat.snapshot()).inbox).toHaveLength(1);
  await harness.store.leases.release(lease);
  await rig.work();
  expect(transcriptLines(await rig.entries())).toEqual(["user: Hello", "assistant: Answer"]);
});
