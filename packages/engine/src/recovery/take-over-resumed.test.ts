import { ids } from "@holdfast/protocol";
import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { aHolder, anEvent, aRunState } from "@holdfast/testing/fixtures/factories";
import {
  createRunner,
  openRunRig,
  untilStreamed,
  transcriptLines,
} from "@holdfast/testing/rigs/run-rig";
import {
  hang,
  says,
  scriptedModel,
  type ScriptedModel,
} from "@holdfast/testing/fakes/scripted-model";
import { type StoreHarness } from "@holdfast/testing/conformance/harness";
import { requestCancel } from "../run/cancel.ts";
import { type ResumePolicy } from "./take-over.ts";

let harness: StoreHarness;
beforeEach(async () => {
  harness = await referenceHarness.open();
});
afterEach(() => harness.close());

describe("a run resumed by a person", () => {
  /** A run that was interrupted once and has been paused since. */
  async function pausedRun() {
    const holder = aHolder();
    const started = scriptedModel([[says("It was a dark"), hang]]);
    const rig = await openRunRig(harness.store, { model: started, holder });
    const { runId } = await rig.say("Begin");
    rig.runner.notify(rig.chat.owner, rig.chat.session);
    await untilStreamed(rig, "dark");
    const dead = (candidate: { nonce: string }) => candidate.nonce === holder.nonce;
    const runner = (model: ScriptedModel, policy: ResumePolicy = "off") =>
      createRunner(harness.store, rig.log, { model, dead, deps: { policy } });
    const second = runner(scriptedModel([]), "ask");
    await second.sweep();
    await second.idle();
    expect(await rig.run(runId)).toMatchObject({ state: "paused", attempt: 1 });
    return { rig, runId, runner };
  }

  test.each(["answered", "resumed"] as const)(
    "[P4] %s: whichever runner sweeps continues it, whatever the policy, without another attempt or notice",
    async (cause) => {
      const { rig, runId, runner } = await pausedRun();
      await rig.chat.commit([aRunState(runId, "claimed", { cause })]);
      const third = runner(scriptedModel([says("and stormy night.")]));
      await third.sweep();
      await third.idle();
      expect(await rig.run(runId)).toMatchObject({ state: "completed", attempt: 1 });
      expect(transcriptLines(await rig.entries())).toEqual([
        "user: Begin",
        "assistant: It was a dark",
        "notice: recovered",
        "assistant: and stormy night.",
      ]);
    },
  );

  test("[P4] once claimed it is a run like any other: a runner that dies counts as an attempt", async () => {
    const { rig, runId, runner } = await pausedRun();
    await rig.chat.commit([aRunState(runId, "claimed", { cause: "resumed" })]);
    const third = createRunner(harness.store, rig.log, {
      model: scriptedModel([[says("and"), hang]]),
    });
    await third.sweep();
    await untilStreamed(rig, '"and"');
    const lease = await harness.store.leases.read("run", rig.chat.session);
    if (lease !== null) await harness.store.leases.release(lease);
    await runner(scriptedModel([says("stormy night.")]), "resume").sweep();
    await expect
      .poll(() => rig.run(runId))
      .toMatchObject({ state: "completed", attempt: 2, cause: null });
  });

  test("[P6] a cancel still wins", async () => {
    const { rig, runId, runner } = await pausedRun();
    await rig.chat.commit([aRunState(runId, "claimed", { cause: "resumed" })]);
    await requestCancel(rig.log, ids, rig.chat.owner, runId);
    const third = runner(scriptedModel([]));
    await third.sweep();
    await third.idle();
    expect(await rig.run(runId)).toMatchObject({ state: "cancelled" });
  });

  test("[P4] a run at rest is not taken over, and messages sent meanwhile wait", async () => {
    const { rig, runId, runner } = await pausedRun();
    await rig.say("And then?");
    const third = runner(scriptedModel([]));
    third.notify(rig.chat.owner, rig.chat.session);
    await third.sweep();
    await third.idle();
    expect(await rig.run(runId)).toMatchObject({ state: "paused", attempt: 1 });
    expect((await rig.chat.snapshot()).inbox).toHaveLength(1);
  });

  test("[P6] a cancel request that nobody carried out is carried out by the next sweep", async () => {
    const { rig, runId, runner } = await pausedRun();
    await rig.chat.commit([anEvent("run.cancel", {}, runId)]);
    const third = runner(scriptedModel([]));
    await third.sweep();
    await third.idle();
    expect(await rig.run(runId)).toMatchObject({ state: "cancelled" });
  });
});
