import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { Store } from "../ports/store.ts";
import { createTool, okResult, openRunRig, until } from "@holdfast/testing/rigs/run-rig";
import { calls, says, scriptedModel, uses } from "@holdfast/testing/fakes/scripted-model";
import { assertPresent } from "@holdfast/testing/fixtures/open-session";
import { type StoreHarness } from "@holdfast/testing/conformance/harness";

let harness: StoreHarness;
beforeEach(async () => {
  harness = await referenceHarness.open();
});
afterEach(() => harness.close());

describe("a tool's output", () => {
  async function resultOf(output: string, store: Store = harness.store) {
    const model = scriptedModel([calls("read"), says("I see.")]);
    const rig = await openRunRig(store, {
      model,
      tools: [createTool("read", async () => okResult(output))],
    });
    const { runId } = await rig.say("Read");
    await rig.work();
    const entry = assertPresent((await rig.entries()).find(({ type }) => type === "message.tool"));
    const [part] = entry.data["parts"] as [{ output: string; blobId?: string }];
    const toModel = model.requests[1]?.messages.findLast(({ role }) => role === "tool");
    return { rig, runId, part, toModel, size: JSON.stringify(entry.data).length };
  }

  test("of moderate size stays in its row", async () => {
    const output = "ü".repeat(30 * 1024);
    const { part } = await resultOf(output);
    expect(part).toMatchObject({ output });
    expect(part.blobId).toBeUndefined();
  });

  test.each([70_000, 10_000_000])(
    "of %d characters goes to a blob once; beginning, end and a note stay, and the model gets those",
    async (length) => {
      const output = `begin ${"x".repeat(length)} end`;
      const { rig, part, toModel, size } = await resultOf(output);
      expect(size).toBeLessThan(20_000);
      expect(part.output).toMatch(/^begin x[\s\S]*bytes in all[\s\S]*x end$/);
      expect(part.output).toContain(part.blobId);
      expect(toModel).toMatchObject({ output: part.output });
      const blobs = [];
      for await (const row of harness.store.audit.blobs()) blobs.push(row);
      const blob = assertPresent(blobs.find(({ id }) => id === part.blobId));
      expect(blob).toMatchObject({ id: part.blobId, refs: 2, intact: true });
      const stored = assertPresent(await harness.store.reads.blob(rig.chat.owner, blob.id));
      expect(new TextDecoder().decode(stored.bytes) === output).toBe(true);
    },
  );

  test("that is streamed in one piece is stored up to its limit, and the run continues", async () => {
    let streamed = "";
    const shout = createTool("shout", async (_call, { write }) => {
      write("y".repeat(3_000_000));
      write("and more");
      await until(async () => (await rig.chat.row()).openDeltas > 0);
      const outputs = (await rig.chat.events()).filter(({ type }) => type === "tool.output");
      streamed = outputs.map(({ data }) => data["text"] as string).join("");
      return okResult("done");
    });
    const rig = await openRunRig(harness.store, {
      model: scriptedModel([calls("shout"), says("I heard.")]),
      tools: [shout],
    });
    const { runId } = await rig.say("Shout");
    await rig.work();
    expect(await rig.run(runId)).toMatchObject({ state: "completed" });
    expect(streamed).toMatch(/^y+$/);
    expect(streamed.length).toBeLessThanOrEqual(512 * 1024);
  });

  test("whose blob cannot be stored is truncated, says so, and the run continues", async () => {
    const full = { status: "failed", code: "store_full", message: "No room." } as const;
    const { store: realStore } = harness;
    const store: Store = {
      ...realStore,
      putBlob: (...args) =>
        args[1].byteLength > 64 * 1024 ? Promise.resolve(full) : realStore.putBlob(...args),
    };
    const { rig, runId, part } = await resultOf(`begin ${"x".repeat(70_000)} end`, store);
    expect(part.output).toMatch(/^begin [\s\S]*could not be kept and is lost[\s\S]* end$/);
    expect(part.blobId).toBeUndefined();
    expect(await rig.run(runId)).toMatchObject({ state: "completed" });
  });
});

describe("a provider's usage counts", () => {
  test.each([
    [Number.NaN, 0],
    [-5, 0],
    [0.4, 0],
    [1.6, 2],
    [1e300, 10_000_000_000],
    [Number.POSITIVE_INFINITY, 10_000_000_000],
  ])("%d is counted as %d, and the spending limit holds", async (costMicros, counted) => {
    const rig = await openRunRig(harness.store, {
      model: scriptedModel([
        [calls("note"), uses({ input: costMicros, costMicros })],
        says("Done."),
      ]),
      tools: [createTool("note", async () => okResult("noted"))],
      deps: { limits: { steps: 20, timeMs: 3_600_000, modelTries: 3, costMicros: 1 } },
    });
    const { runId } = await rig.say("Go on");
    await rig.work();
    const used = await harness.store.reads.usage(rig.chat.owner, { runId });
    expect(used).toMatchObject({ input: counted, costMicros: counted });
    const state = counted >= 1 ? "limit" : "completed";
    expect(await rig.run(runId)).toMatchObject({ state });
  });

  test("the daily limit stops a run between two steps, and keeps the next one from starting", async () => {
    const rig = await openRunRig(harness.store, {
      model: scriptedModel([
        [calls("note"), uses({ input: 1, costMicros: 3_000_000 })],
        says("Noted."),
      ]),
      tools: [createTool("note", async () => okResult("noted"))],
      deps: {
        limits: { steps: 20, timeMs: 3_600_000, modelTries: 3, costMicrosPerDay: 2_500_000 },
      },
    });
    const { runId } = await rig.say("Note it");
    await rig.work();
    expect(await rig.run(runId)).toMatchObject({ state: "limit", cause: "spend_day", step: 1 });
    const next = await rig.say("Again");
    await rig.work();
    expect(await rig.run(next.runId)).toMatchObject({ state: "limit", cause: "spend_day" });
  });

  test("beyond the daily limit no run starts, and the notice says so; a day later one does", async () => {
    const rig = await openRunRig(harness.store, {
      model: scriptedModel([
        [says("Dear."), uses({ input: 1, costMicros: 3_000_000 })],
        says("Begun again."),
      ]),
      deps: {
        limits: { steps: 20, timeMs: 3_600_000, modelTries: 3, costMicrosPerDay: 2_500_000 },
      },
    });
    const first = await rig.say("One");
    await rig.work();
    expect(await rig.run(first.runId)).toMatchObject({ state: "completed" });
    const second = await rig.say("Two");
    await rig.work();
    expect(await rig.run(second.runId)).toMatchObject({ state: "limit", cause: "spend_day" });
    const notice = (await rig.entries()).findLast((event) => event.type === "notice.added");
    expect(notice?.data["text"]).toContain("$2.50");
    await harness.advanceClock(24 * 3_600_000 + 1);
    const third = await rig.say("Three");
    await rig.work();
    expect(await rig.run(third.runId)).toMatchObject({ state: "completed" });
  });
});
