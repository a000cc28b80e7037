import { ids } from "@holdfast/protocol";
import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import type { Tool } from "../ports/tool.ts";
import { aHolder } from "@holdfast/testing/fixtures/factories";
import {
  createTool,
  okResult,
  untilRecorded,
  untilStreamed,
  transcriptLines,
  until,
  createRunner,
  openRunRig,
} from "@holdfast/testing/rigs/run-rig";
import { calls, hang, says, scriptedModel } from "@holdfast/testing/fakes/scripted-model";
import { manualClock } from "@holdfast/testing/fakes/manual-clock";
import { type StoreHarness } from "@holdfast/testing/conformance/harness";
import { requestCancel } from "../run/cancel.ts";

let harness: StoreHarness;
beforeEach(async () => {
  harness = await referenceHarness.open();
});
afterEach(() => harness.close());

describe("take-over", () => {
  /** A dead runner: it streams and then never responds again. */
  async function abandonRun(
    reply: Parameters<typeof scriptedModel>[0],
    tools: readonly Tool[] = [],
  ) {
    const holder = aHolder();
    const rig = await openRunRig(harness.store, { model: scriptedModel(reply), holder, tools });
    const { runId } = await rig.say("Begin");
    rig.runner.notify(rig.chat.owner, rig.chat.session);
    return { rig, runId, dead: (candidate: { nonce: string }) => candidate.nonce === holder.nonce };
  }

  test("[P4] a run whose holder is dead continues at once, with its earlier output above a notice", async () => {
    const { rig, runId, dead } = await abandonRun([[says("It was a dark"), hang]]);
    await untilStreamed(rig, "dark");
    const model = scriptedModel([says("and stormy night.")]);
    const second = createRunner(harness.store, rig.log, { model, dead });
    await second.sweep();
    await second.idle();
    expect(transcriptLines(await rig.entries())).toEqual([
      "user: Begin",
      "assistant: It was a dark",
      "notice: recovered",
      "assistant: and stormy night.",
    ]);
    expect(await rig.run(runId)).toMatchObject({ state: "completed", attempt: 1 });
    const ends = (await rig.chat.events()).filter(
      ({ type, data }) => type === "run.state" && data["state"] === "completed",
    );
    expect(ends).toHaveLength(1);
  });

  test("the sweep reads the journal of an abandoned run once, however long it is", async () => {
    const { rig, dead } = await abandonRun([[says("It was a dark"), hang]]);
    await untilStreamed(rig, "dark");
    const reads = vi.spyOn(rig.log.store.reads, "snapshot");
    const second = createRunner(harness.store, rig.log, {
      model: scriptedModel([says("and stormy night.")]),
      dead,
    });
    await second.sweep();
    await second.idle();
    const withItsOutput = reads.mock.settledResults.filter(
      (read) =>
        read.type === "fulfilled" && JSON.stringify(read.value?.journal).includes("It was a dark"),
    );
    expect(withItsOutput).toHaveLength(1);
  });

  test("[P7] a tool that was running is unknown, to the person and to the model, and does not run again", async () => {
    let started = 0;
    const never = createTool("pay", () => ((started += 1), new Promise(() => {})));
    const { rig, dead } = await abandonRun([calls("pay")], [never]);
    await until(() => started === 1);
    const model = scriptedModel([says("I will look first.")]);
    const second = createRunner(harness.store, rig.log, { model, dead, tools: [never] });
    await second.sweep();
    await second.idle();
    expect(started).toBe(1);
    expect(transcriptLines(await rig.entries())).toEqual([
      "user: Begin",
      "assistant: calls pay",
      "tool: unknown ",
      "notice: recovered",
      "assistant: I will look first.",
    ]);
    const result = model.requests[0]?.messages.at(-1);
    expect(result?.role === "tool" && result.output).toMatch(/not known/);
  });

  test("[P7] a tool that declares replays safe runs again under the same call", async () => {
    const starts: string[] = [];
    const safe = createTool(
      "read",
      ({ callId }, { write }) => {
        starts.push(callId);
        write("some output");
        return starts.length === 1 ? new Promise(() => {}) : Promise.resolve(okResult("the whole"));
      },
      { replay: "safe" },
    );
    const { rig, dead } = await abandonRun([calls("read")], [safe]);
    await untilStreamed(rig, "some output");
    const second = createRunner(harness.store, rig.log, {
      model: scriptedModel([says("Read.")]),
      dead,
      tools: [safe],
    });
    await second.sweep();
    await second.idle();
    expect(new Set(starts).size).toBe(1);
    expect(transcriptLines(await rig.entries()).slice(-2)).toEqual([
      "tool: ok the whole",
      "assistant: Read.",
    ]);
    expect((await rig.chat.row()).openDeltas).toBe(0);
  });

  test("[P7] a replayable tool is reported as unknown if its run is cancelled instead", async () => {
    const safe = createTool("read", () => new Promise(() => {}), { replay: "safe" });
    const { rig, runId, dead } = await abandonRun([calls("read")], [safe]);
    await untilRecorded(rig, "tool.started");
    await requestCancel(rig.log, ids, rig.chat.owner, runId);
    const second = createRunner(harness.store, rig.log, {
      model: scriptedModel([]),
      dead,
      tools: [safe],
    });
    await second.sweep();
    await second.idle();
    expect(await rig.run(runId)).toMatchObject({ state: "cancelled" });
    expect(transcriptLines(await rig.entries()).slice(-2)).toEqual([
      "tool: unknown ",
      "notice: recovered",
    ]);
  });

  test("a holder that may be alive is left alone until its lease has expired by both clocks", async () => {
    const { rig, runId } = await abandonRun([[says("Slow"), hang]]);
    await untilStreamed(rig, "Slow");
    const clock = manualClock();
    const second = createRunner(harness.store, rig.log, {
      model: scriptedModel([says("Taken.")]),
      clock,
    });
    await second.sweep();
    await harness.advanceClock(31_000);
    await second.sweep();
    await second.idle();
    expect(await rig.run(runId)).toMatchObject({ state: "running", attempt: 0 });
    await clock.advance(15_000);
    await second.sweep();
    await second.idle();
    expect(await rig.run(runId)).toMatchObject({ state: "completed", attempt: 1 });
  });

  test.each([
    ["ask", "paused"],
    ["off", "interrupted"],
  ] as const)("with the policy %s the run is %s", async (policy, state) => {
    const { rig, runId, dead } = await abandonRun([[says("Once"), hang]]);
    await untilStreamed(rig, "Once");
    const second = createRunner(harness.store, rig.log, {
      model: scriptedModel([]),
      dead,
      deps: { policy },
    });
    await second.sweep();
    await second.idle();
    expect(await rig.run(runId)).toMatchObject({ state });
  });

  test("[P6] a run that was cancelled while its runner was dead ends as cancelled and is not resumed", async () => {
    const { rig, runId, dead } = await abandonRun([[says("Once"), hang]]);
    await untilStreamed(rig, "Once");
    await requestCancel(rig.log, ids, rig.chat.owner, runId);
    const second = createRunner(harness.store, rig.log, { model: scriptedModel([]), dead });
    await second.sweep();
    await second.idle();
    expect(await rig.run(runId)).toMatchObject({ state: "cancelled" });
  });
});
