import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { Tool } from "../ports/tool.ts";
import {
  createTool,
  okResult,
  untilRecorded,
  transcriptLines,
  openRunRig,
  type RunRig,
} from "@holdfast/testing/rigs/run-rig";
import { calls, says, scriptedModel } from "@holdfast/testing/fakes/scripted-model";
import { manualClock } from "@holdfast/testing/fakes/manual-clock";
import { watchStore } from "@holdfast/testing/contracts/wrapped-stores";
import { type StoreHarness } from "@holdfast/testing/conformance/harness";

let harness: StoreHarness;
beforeEach(async () => {
  harness = await referenceHarness.open();
});
afterEach(() => harness.close());

describe("tools", () => {
  test("a tool is recorded as started before it starts, and its result reaches the model", async () => {
    const seen: string[] = [];
    const rig: RunRig = await openRunRig(harness.store, {
      model: scriptedModel([
        [says("Let me see. "), calls("count", { to: 2 })],
        (request) => says(`It said: ${request.messages.at(-1)?.role === "tool" ? "3" : "nothing"}`),
      ]),
      tools: [
        createTool("count", async (_call, { write }) => {
          seen.push(...(await rig.chat.events()).map(({ type }) => type));
          write("1, ");
          write("2");
          return okResult("3");
        }),
      ],
    });
    await rig.say("Count");
    await rig.work();
    expect(seen.at(-1)).toBe("tool.started");
    expect(transcriptLines(await rig.entries())).toEqual([
      "user: Count",
      "assistant: Let me see. |calls count",
      "tool: ok 3",
      "assistant: It said: 3",
    ]);
  });

  test.each<[string, Tool["run"], string]>([
    ["throws", () => Promise.reject(new Error("broken")), "failed broken"],
    ["fails", async () => ({ outcome: "failed", output: "no" }), "failed no"],
  ])("a tool that %s is reported as failed, and the run continues", async (_name, run, result) => {
    const rig = await openRunRig(harness.store, {
      model: scriptedModel([calls("it"), says("I see.")]),
      tools: [createTool("it", run)],
    });
    await rig.say("Do it");
    await rig.work();
    expect(transcriptLines(await rig.entries()).slice(2)).toEqual([
      `tool: ${result}`,
      "assistant: I see.",
    ]);
  });

  test("[P7] a tool does not start for a run that was given up while its start was recorded", async () => {
    const watched = watchStore(harness.store);
    let started = 0;
    const rig = await openRunRig(watched.store, {
      model: scriptedModel([calls("it")]),
      tools: [createTool("it", async () => ((started += 1), okResult("done")))],
    });
    let stopped: Promise<void> | undefined;
    watched.onCommitted = async (types) => {
      if (types.includes("tool.started")) stopped = rig.runner.stop();
    };
    const { runId } = await rig.say("Do it");
    await rig.work();
    await stopped;
    expect(started).toBe(0);
    expect(await rig.run(runId)).toMatchObject({ state: "running" });
  });

  test("[P6] a tool that ignores its cancel is fenced out", async () => {
    const watched = watchStore(harness.store);
    const clock = manualClock();
    const rig = await openRunRig(watched.store, {
      model: scriptedModel([calls("it"), says("I see.")]),
      tools: [createTool("it", () => new Promise(() => {}), { timeLimitMs: 1_000 })],
      clock,
    });
    await rig.say("Do it");
    rig.runner.notify(rig.chat.owner, rig.chat.session);
    await untilRecorded(rig, "tool.started");
    const before = watched.fences.at(-1) ?? Infinity;
    await clock.advance(1_000);
    await clock.advance(5_000);
    await rig.runner.idle();
    expect(watched.fences.at(-1)).toBeGreaterThan(before);
  });

  test("a tool that does not end is stopped at its time limit, and abandoned if it ignores that", async () => {
    const clock = manualClock();
    const rig = await openRunRig(harness.store, {
      model: scriptedModel([calls("it"), says("I see.")]),
      tools: [createTool("it", () => new Promise(() => {}), { timeLimitMs: 1_000 })],
      clock,
    });
    await rig.say("Do it");
    rig.runner.notify(rig.chat.owner, rig.chat.session);
    await untilRecorded(rig, "tool.started");
    await clock.advance(1_000);
    await clock.advance(5_000);
    await rig.runner.idle();
    expect(transcriptLines(await rig.entries())[2]).toMatch(/^tool: unknown .*left alone/);
  });
});
