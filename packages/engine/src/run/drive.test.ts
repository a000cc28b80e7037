import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import {
  createTool,
  createGate,
  okResult,
  untilRecorded,
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
  uses,
} from "@holdfast/testing/fakes/scripted-model";
import { manualClock } from "@holdfast/testing/fakes/manual-clock";
import { type StoreHarness } from "@holdfast/testing/conformance/harness";

import { ids } from "@holdfast/protocol";
import { requestCancel } from "./cancel.ts";

let harness: StoreHarness;
beforeEach(async () => {
  harness = await referenceHarness.open();
});
afterEach(() => harness.close());

describe("a turn", () => {
  test("a message is answered, and its run completes once", async () => {
    const rig = await openRunRig(harness.store, { model: scriptedModel([says("Good ", "day.")]) });
    const { runId } = await rig.say("Hello");
    await rig.work();
    expect(transcriptLines(await rig.entries())).toEqual(["user: Hello", "assistant: Good day."]);
    expect(await rig.run(runId)).toMatchObject({ state: "completed", step: 1 });
    expect(await rig.chat.row()).toMatchObject({
      liveRun: null,
      openDeltas: 0,
      lastState: "completed",
    });
    expect(await harness.store.leases.read("run", rig.chat.session)).toBeNull();
  });

  test("each model call is charged once, for what it used", async () => {
    const clock = manualClock();
    const model = scriptedModel([
      [says("Half"), uses({ output: 1, costMicros: 10 }), fails("retryable")],
      [says("Whole"), uses({ output: 2, costMicros: 100 })],
    ]);
    const rig = await openRunRig(harness.store, { model, clock });
    const { runId } = await rig.say("Hello");
    rig.runner.notify(rig.chat.owner, rig.chat.session);
    await until(async () => {
      await clock.advance(1_000);
      return (await rig.run(runId)).state === "completed";
    });
    await rig.runner.idle();
    expect(await harness.store.reads.usage(rig.chat.owner, { runId })).toMatchObject({
      calls: 2,
      output: 3,
      costMicros: 110,
    });
  });

  test("a message that arrives during an answer comes after it", async () => {
    const first = createGate();
    const rig = await openRunRig(harness.store, {
      model: scriptedModel([[says("One"), gate(first.promise)], says("Two")]),
    });
    await rig.say("First");
    rig.runner.notify(rig.chat.owner, rig.chat.session);
    await untilStreamed(rig, "One");
    await rig.say("Second");
    first.open();
    await rig.work();
    expect(transcriptLines(await rig.entries())).toEqual([
      "user: First",
      "assistant: One",
      "user: Second",
      "assistant: Two",
    ]);
  });

  test("a steering message reaches the model before its next step", async () => {
    const running = createGate();
    const look = createTool("look", async () => (await running.promise, okResult("seen")));
    const model = scriptedModel([calls("look"), says("As you wish.")]);
    const rig = await openRunRig(harness.store, { model, tools: [look] });
    await rig.say("Look");
    rig.runner.notify(rig.chat.owner, rig.chat.session);
    await untilRecorded(rig, "tool.started");
    const steer = await rig.say("But quickly", { mode: "steer" });
    running.open();
    await rig.work();
    expect(transcriptLines(await rig.entries())).toEqual([
      "user: Look",
      "assistant: calls look",
      "tool: ok seen",
      "user: But quickly",
      "assistant: As you wish.",
    ]);
    expect(await rig.run(steer.runId)).toMatchObject({ state: "completed", cause: "steered" });
  });

  test("an interrupting message ends the run and goes before queued ones", async () => {
    const model = scriptedModel([[says("Well"), hang], says("At once."), says("Later.")]);
    const clock = manualClock();
    const rig = await openRunRig(harness.store, { model, clock });
    const first = await rig.say("Tell me everything");
    rig.runner.notify(rig.chat.owner, rig.chat.session);
    await untilStreamed(rig, "Well");
    await rig.say("And then this");
    await rig.say("Stop, this first", { mode: "interrupt" });
    rig.runner.start();
    await clock.advance(600);
    await clock.advance(5_000);
    await rig.work();
    await rig.runner.stop();
    expect(transcriptLines(await rig.entries())).toEqual([
      "user: Tell me everything",
      "assistant: Well",
      "user: Stop, this first",
      "assistant: At once.",
      "user: And then this",
      "assistant: Later.",
    ]);
    expect(await rig.run(first.runId)).toMatchObject({ state: "cancelled" });
  });
});

describe("when the model fails", () => {
  test("a transient failure is retried, and the partial answer stays", async () => {
    const clock = manualClock();
    const rig = await openRunRig(harness.store, {
      model: scriptedModel([
        [says("Half a"), fails("overloaded", { retryAfterMs: 7_000 })],
        says("A whole."),
      ]),
      clock,
    });
    const { runId } = await rig.say("Say it");
    rig.runner.notify(rig.chat.owner, rig.chat.session);
    await until(async () => transcriptLines(await rig.entries()).length === 2);
    await clock.advance(6_900);
    expect(await rig.run(runId)).toMatchObject({ state: "running" });
    await clock.advance(200);
    await rig.runner.idle();
    expect(transcriptLines(await rig.entries())).toEqual([
      "user: Say it",
      "assistant: Half a",
      "assistant: A whole.",
    ]);
    expect(await rig.run(runId)).toMatchObject({ state: "completed", step: 1 });
  });

  test("a model that cannot be reached is tried for about a minute, and one whose answers break off five times", async () => {
    const outage = async (answer: Parameters<typeof scriptedModel>[0]) => {
      const clock = manualClock();
      const model = scriptedModel(answer);
      const limits = { steps: 20, timeMs: 3_600_000, modelTries: 9 };
      const rig = await openRunRig(harness.store, { model, clock, deps: { limits } });
      const { runId } = await rig.say("Hello");
      rig.runner.notify(rig.chat.owner, rig.chat.session);
      const began = clock.now();
      await until(async () => {
        await clock.advance(250);
        return (await rig.run(runId)).state === "failed";
      });
      await rig.runner.idle();
      return { tries: model.requests.length, seconds: (clock.now() - began) / 1_000 };
    };
    const silent = await outage(() => fails("retryable"));
    expect(silent.tries).toBe(9);
    expect(silent.seconds).toBeGreaterThan(40);
    expect(silent.seconds).toBeLessThan(100);
    const broken = await outage(() => [says("Half"), fails("retryable")]);
    expect(broken.tries).toBe(5);
    expect(broken.seconds).toBeLessThan(15);
  });

  test("a run that waits for its model is stopped without waiting for the end of the pause", async () => {
    const clock = manualClock();
    const model = scriptedModel(() => fails("overloaded", { retryAfterMs: 600_000 }));
    const rig = await openRunRig(harness.store, { model, clock });
    const { runId } = await rig.say("Hello");
    rig.runner.notify(rig.chat.owner, rig.chat.session);
    await until(async () => {
      const events = await rig.chat.events();
      return events.some(({ data }) => data["retryMs"] === 600_000);
    });
    rig.runner.start();
    expect(await requestCancel(rig.log, ids, rig.chat.owner, runId)).toEqual({
      status: "requested",
    });
    await clock.advance(600);
    await clock.advance(5_000);
    await rig.runner.idle();
    await rig.runner.stop();
    expect(await rig.run(runId)).toMatchObject({ state: "cancelled" });
    expect(model.requests).toHaveLength(1);
  });

  test.each(["auth", "refused", "fatal"] as const)(
    "%s ends the run with its code and a message for the person",
    async (kind) => {
      const rig = await openRunRig(harness.store, {
        model: scriptedModel([fails(kind, { code: "because" })]),
      });
      const { runId } = await rig.say("Say it");
      await rig.work();
      expect(await rig.run(runId)).toMatchObject({ state: "failed", cause: "because" });
      expect(transcriptLines(await rig.entries())).toEqual(["user: Say it", "notice: because"]);
    },
  );

  test("[S3.14] a turn that fails without output is settled, and the next message is answered", async () => {
    const rig = await openRunRig(harness.store, { model: scriptedModel([[], says("Here I am.")]) });
    const { runId } = await rig.say("Hello?");
    await rig.work();
    expect(await rig.run(runId)).toMatchObject({ state: "failed", cause: "empty_reply" });
    await rig.say("Again?");
    await rig.work();
    expect(transcriptLines(await rig.entries()).at(-1)).toBe("assistant: Here I am.");
  });
});
