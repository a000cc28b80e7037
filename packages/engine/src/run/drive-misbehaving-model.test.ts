import type { Json, NewEvent } from "@holdfast/protocol";
import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { ModelEvent } from "../ports/model.ts";
import type { Store } from "../ports/store.ts";
import { aHolder } from "@holdfast/testing/fixtures/factories";
import {
  createTool,
  okResult,
  untilRecorded,
  transcriptLines,
  until,
  createRunner,
  openRunRig,
  type RunRig,
} from "@holdfast/testing/rigs/run-rig";
import { calls, hang, says, scriptedModel, uses } from "@holdfast/testing/fakes/scripted-model";
import { fsckFindings, type StoreHarness } from "@holdfast/testing/conformance/harness";
import { manualClock } from "@holdfast/testing/fakes/manual-clock";
import { assertSameJson } from "@holdfast/testing/fixtures/open-session";

let harness: StoreHarness;
beforeEach(async () => {
  harness = await referenceHarness.open();
});
afterEach(async () => {
  assertSameJson(await fsckFindings(harness.store), []);
  await harness.close();
});

/** Whatever happened, the session continues: nothing is left open, and the next message is answered. */
async function expectStillWorks(rig: RunRig): Promise<void> {
  expect(await rig.chat.row()).toMatchObject({ liveRun: null, openDeltas: 0 });
  const { runId } = await rig.say("And now?");
  await rig.work();
  expect(await rig.run(runId)).toMatchObject({ state: "completed" });
}

describe("a misbehaving model", () => {
  test("an endless answer is kept as far as it fits, and the session continues", async () => {
    const piece = "界".repeat(40_000);
    const model = scriptedModel((_request, before) =>
      before === 0 ? says(...Array.from({ length: 40 }, () => piece)) : says("Fine."),
    );
    const rig = await openRunRig(harness.store, { model });
    const { runId } = await rig.say("Everything, please");
    await rig.work();
    expect(await rig.run(runId)).toMatchObject({ state: "failed", cause: "answer_too_long" });
    expect(transcriptLines(await rig.entries())[1]?.length).toBeGreaterThan(200_000);
    await expectStillWorks(rig);
  });

  test("more calls than can be stored are refused before any of them runs", async () => {
    let started = 0;
    const many = Array.from({ length: 2_500 }, () => calls("it"));
    const rig = await openRunRig(harness.store, {
      model: scriptedModel([many, says("Fine.")]),
      tools: [createTool("it", async () => ((started += 1), okResult("done")))],
    });
    const { runId } = await rig.say("Do it");
    await rig.work();
    expect(await rig.run(runId)).toMatchObject({ state: "failed", cause: "calls_too_large" });
    expect(started).toBe(0);
    await expectStillWorks(rig);
  });

  test("[P5] calls that together exceed a message cost none of its text", async () => {
    const large = Array.from({ length: 9 }, () => calls("it", "x".repeat(120_000)));
    const rig = await openRunRig(harness.store, {
      model: scriptedModel([[says("I will."), large], says("Fine.")]),
      tools: [createTool("it", async () => okResult("done"))],
    });
    const { runId } = await rig.say("Do it");
    await rig.work();
    expect(await rig.run(runId)).toMatchObject({ state: "failed", cause: "calls_too_large" });
    expect(transcriptLines(await rig.entries())[1]).toBe("assistant: I will.");
    await expectStillWorks(rig);
  });

  test("[P5] a call nested too deeply to store costs none of its text, and is not requested again", async () => {
    let nested: Json = [];
    for (let depth = 0; depth < 50_000; depth += 1) nested = [nested];
    const deep = [says("I will."), calls("it", nested)];
    const model = scriptedModel((_request, before) => (before === 0 ? deep : says("Fine.")));
    const rig = await openRunRig(harness.store, { model });
    const { runId } = await rig.say("Do it");
    await rig.work();
    expect(await rig.run(runId)).toMatchObject({ state: "failed", cause: "call_malformed" });
    expect(transcriptLines(await rig.entries())[1]).toBe("assistant: I will.");
    await expectStillWorks(rig);
  });

  test("usage that is not a count is recorded as one", async () => {
    const odd = uses({ input: 1.5, output: Number.NaN, costMicros: -3 });
    const rig = await openRunRig(harness.store, {
      model: scriptedModel([[says("Hello."), odd], says("Fine.")]),
    });
    const { runId } = await rig.say("Hello");
    await rig.work();
    expect(await rig.run(runId)).toMatchObject({ state: "completed" });
    await expectStillWorks(rig);
  });

  test("a model that throws instead of streaming fails the run once, with what it said", async () => {
    let asked = 0;
    const rig = await openRunRig(harness.store, {
      model: {
        stream(): AsyncIterable<ModelEvent> {
          asked += 1;
          if (asked === 1) throw new Error("no such host");
          return scriptedModel([says("Fine.")]).stream(
            { model: "m", messages: [], tools: [] },
            new AbortController().signal,
          );
        },
      },
    });
    const { runId } = await rig.say("Hello");
    await rig.work();
    expect(await rig.run(runId)).toMatchObject({ state: "failed", cause: "model_broken" });
    expect(asked).toBe(1);
    await expectStillWorks(rig);
  });

  test("a model that sends only empty texts has said nothing", async () => {
    const rig = await openRunRig(harness.store, {
      model: scriptedModel([says("", ""), says("Fine.")]),
    });
    const { runId } = await rig.say("Hello");
    await rig.work();
    expect(await rig.run(runId)).toMatchObject({ state: "failed", cause: "empty_reply" });
    await expectStillWorks(rig);
  });
});

describe("a misbehaving tool", () => {
  test("output written after its end is ignored", async () => {
    let late: ((text: string) => void) | undefined;
    const leaky = createTool(
      "leak",
      async (_call, context) => ((late = context.write), okResult("done")),
    );
    const model = scriptedModel((_request, before) => {
      if (before === 1) late?.("too late");
      return before === 0 ? calls("leak") : says("Fine.");
    });
    const rig = await openRunRig(harness.store, { model, tools: [leaky] });
    const { runId } = await rig.say("Go");
    await rig.work();
    expect(await rig.run(runId)).toMatchObject({ state: "completed" });
    expect(JSON.stringify(await rig.chat.events())).not.toContain("too late");
    await expectStillWorks(rig);
  });

  test("output above the limit is truncated, and so is its result", async () => {
    const loud = createTool("loud", async (_call, { write }) => {
      for (let index = 0; index < 40; index += 1) write("x".repeat(50_000));
      return okResult("y".repeat(2_000_000));
    });
    const rig = await openRunRig(harness.store, {
      model: scriptedModel([calls("loud"), says("Fine."), says("Fine.")]),
      tools: [loud],
    });
    const { runId } = await rig.say("Go");
    await rig.work();
    expect(await rig.run(runId)).toMatchObject({ state: "completed" });
    await expectStillWorks(rig);
  });

  test("a tool that throws at once fails, and its neighbour does not", async () => {
    const rig = await openRunRig(harness.store, {
      model: scriptedModel([[calls("bad"), calls("good")], says("Fine."), says("Fine.")]),
      tools: [
        createTool("bad", () => {
          throw new Error("at once");
        }),
        createTool("good", async () => okResult("done")),
      ],
    });
    await rig.say("Go");
    await rig.work();
    expect(transcriptLines(await rig.entries()).slice(2, 4)).toEqual([
      "tool: failed at once",
      "tool: ok done",
    ]);
    await expectStillWorks(rig);
  });

  test("[P7] one of many tools that was running at two crashes runs once", async () => {
    let paid = 0;
    const quick = createTool("quick", async () => okResult("done"));
    const pay = createTool("pay", () => ((paid += 1), new Promise(() => {})));
    const holders = [aHolder(), aHolder()];
    const dead = (candidate: { nonce: string }) =>
      holders.some(({ nonce }) => nonce === candidate.nonce);
    const message = [...Array.from({ length: 60 }, () => calls("quick")), calls("pay")];
    const rig = await openRunRig(harness.store, {
      model: scriptedModel([message]),
      tools: [quick, pay],
      holder: holders[0]!,
    });
    await rig.say("Go");
    rig.runner.notify(rig.chat.owner, rig.chat.session);
    await until(() => paid === 1);
    for (const holder of [holders[1]!, aHolder()]) {
      const next = createRunner(harness.store, rig.log, {
        model: scriptedModel([[says("Looking"), hang]]),
        tools: [quick, pay],
        holder,
        dead,
      });
      await next.sweep();
      await untilRecorded(rig, "notice.added");
      await until(async () => (await rig.chat.row()).openDeltas > 0);
    }
    expect(paid).toBe(1);
    expect(
      transcriptLines(await rig.entries()).filter((line) => line.startsWith("tool: unknown")),
    ).toHaveLength(1);
  });
});

test("empty and oversized messages are refused before they are accepted", async () => {
  const rig = await openRunRig(harness.store, { model: scriptedModel([]) });
  await expect(rig.say("   ")).rejects.toThrow("invalid_event");
  await expect(rig.say("界".repeat(300_000))).rejects.toThrow("payload_too_large");
});

test("a lease that cannot be renewed is given up in time, even if the store does not answer", async () => {
  const clock = manualClock();
  const silent = { ...harness.store.leases, renew: () => new Promise<never>(() => {}) };
  const store = { ...harness.store, leases: silent };
  const rig = await openRunRig(store, { model: scriptedModel([[says("So"), hang]]), clock });
  await rig.say("Go");
  rig.runner.notify(rig.chat.owner, rig.chat.session);
  await until(async () => (await rig.chat.row()).openDeltas > 0);
  for (let second = 0; second < 35; second += 1) await clock.advance(1_000);
  await rig.runner.idle();
  expect(await harness.store.leases.read("run", rig.chat.session)).toBeNull();
});

describe("a store that refuses a settlement", () => {
  /** Refuses commits that a predicate picks, as if they were invalid. */
  function refusing(store: Store, isRefused: (events: readonly NewEvent[]) => boolean): Store {
    const commit: Store["commit"] = async (commitRequest) =>
      isRefused(commitRequest.events)
        ? { status: "refused", code: "invalid_event", message: "It is not so." }
        : store.commit(commitRequest);
    return { ...store, commit };
  }
  const has = (events: readonly NewEvent[], type: string, state?: string) =>
    events.some(
      (event) => event.type === type && (state ?? event.data["state"]) === event.data["state"],
    );

  test("output is kept where possible, and the session continues", async () => {
    let refused = 0;
    const store = refusing(harness.store, (events) => {
      const matches = refused === 0 && has(events, "run.state", "completed");
      if (matches) refused += 1;
      return matches;
    });
    const rig = await openRunRig(store, { model: scriptedModel(() => says("All of it.")) });
    const { runId } = await rig.say("Hello");
    await rig.work();
    expect(await rig.run(runId)).toMatchObject({ state: "failed", cause: "invalid_event" });
    expect(transcriptLines(await rig.entries())).toEqual([
      "user: Hello",
      "assistant: All of it.",
      "notice: given_up",
    ]);
    await expectStillWorks(rig);
  });

  test("output that cannot be stored at all is accounted for by a notice", async () => {
    let refused = 0;
    const store = refusing(harness.store, (events) => {
      const matches = refused < 2 && has(events, "message.assistant");
      if (matches) refused += 1;
      return matches;
    });
    const rig = await openRunRig(store, { model: scriptedModel(() => says("All of it.")) });
    const { runId } = await rig.say("Hello");
    await rig.work();
    expect(await rig.run(runId)).toMatchObject({ state: "failed", cause: "invalid_event" });
    expect(transcriptLines(await rig.entries())).toEqual(["user: Hello", "notice: not_kept"]);
    await expectStillWorks(rig);
  });
});
