import { ids } from "@holdfast/protocol";
import { memoryHarness } from "@holdfast/store/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import {
  hang,
  manualClock,
  openRunRig,
  says,
  scriptedModel,
  streamed,
  told,
  type StoreHarness,
} from "../testing/index.ts";
import { requestCancel } from "./index.ts";

let harness: StoreHarness;
beforeEach(async () => {
  harness = await memoryHarness.open();
});
afterEach(() => harness.close());

describe("cancel", () => {
  test("[P6] what was said stays, the run ends cancelled, and asking again changes nothing", async () => {
    const clock = manualClock();
    const rig = await openRunRig(harness.store, {
      model: scriptedModel([[says("So far"), hang]]),
      clock,
    });
    const { runId } = await rig.say("Talk");
    rig.runner.poke(rig.chat.owner, rig.chat.session);
    await streamed(rig, "So far");
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
    expect(told(await rig.entries())).toEqual(["user: Talk", "assistant: So far"]);
    expect((await rig.entries()).at(-1)?.data["partial"]).toBe("cancelled");
    expect(await requestCancel(rig.log, ids, rig.chat.owner, runId)).toEqual({ status: "ended" });
  });

  test("a message that waits is taken back, and its run never begins", async () => {
    const rig = await openRunRig(harness.store, { model: scriptedModel([]) });
    const { runId } = await rig.say("Never mind");
    expect(await requestCancel(rig.log, ids, rig.chat.owner, runId)).toEqual({ status: "ended" });
    await rig.work();
    expect(await rig.entries()).toEqual([]);
    expect((await rig.chat.snapshot()).inbox).toEqual([]);
  });
});
