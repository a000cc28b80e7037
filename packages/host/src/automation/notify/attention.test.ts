import { aMark, anInput, aRunId, aRunState, aSegment } from "@holdfast/testing/fixtures/factories";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { ids, newEvent, type RunId, type RunState } from "@holdfast/protocol";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, test } from "vitest";

import { AttentionFinder } from "./attention.ts";

async function openFinder() {
  const time = { now: 1_000_000 };
  const store = createReferenceStore({ clock: () => time.now });
  const chat = await openTestSession(store);
  const finder = new AttentionFinder(store.reads, chat.owner);
  const find = async (since: number) =>
    (await finder.find(since, time.now)).map(({ type, cause }) => cause ?? type);
  async function run(state: RunState, cause?: string): Promise<RunId> {
    const runId = aRunId();
    await chat.commit([anInput({ runId }), aRunState(runId, "claimed")]);
    await chat.commit([aRunState(runId, state, cause === undefined ? {} : { cause })]);
    return runId;
  }
  return { time, chat, finder, find, run };
}

test("every run end that needs a person is found once, even behind one that doesn't", async () => {
  const { time, finder, find, run } = await openFinder();
  for (const [state, cause] of [
    ["failed", undefined],
    ["interrupted", undefined],
    ["limit", "steps"],
    ["limit", "spend_day"],
    ["cancelled", undefined],
    ["completed", undefined],
  ] as const)
    await run(state, cause);
  const all = ["run_failed", "run_interrupted", "steps", "spend_day"];
  expect(await find(time.now)).toEqual(all);
  expect(await find(time.now)).toEqual([]);
  finder.reset();
  expect(await find(time.now)).toEqual(all);
  finder.reset();
  expect(await find(time.now + 1)).toEqual([]);
});

test("a paused run is found although it does not move its session up the list", async () => {
  const { time, chat, find } = await openFinder();
  const runId = aRunId();
  await chat.commit([anInput({ runId }), aRunState(runId, "claimed")]);
  time.now += 60_000;
  await chat.commit([aRunState(runId, "paused")]);
  expect(await find(time.now)).toEqual(["run_paused"]);
  expect(await find(time.now + 1)).toEqual([]);
  await chat.commit([aRunState(runId, "claimed", { cause: "resumed" })]);
  expect(await find(time.now)).toEqual([]);
});

test("failing memory is found after an hour, not before", async () => {
  const { time, chat, find } = await openFinder();
  const runId = aRunId();
  await chat.commit([anInput({ runId }), aRunState(runId, "claimed")]);
  await chat.commit([aRunState(runId, "completed"), aMark(runId)]);
  const { fence } = await chat.lease("memory");
  const upTo = (await chat.row()).head;
  const under = { lease: "memory", fence } as const;
  await chat.commit([aSegment("tried", upTo)], { under });
  await chat.commit([aSegment("failed", upTo)], { under });
  time.now += 3_599_000;
  expect(await find(time.now)).toEqual([]);
  time.now += 61_000;
  expect(await find(time.now)).toEqual(["provider_down"]);
});

test("a server that needs a sign-in is found by its notice, once, with its run", async () => {
  const { time, chat, finder, find } = await openFinder();
  const runId = aRunId();
  await chat.commit([anInput({ runId }), aRunState(runId, "claimed")]);
  const noticeId = ids.make("notice");
  const text = "The MCP server wiki needs you to sign in.";
  const data = { noticeId, kind: "mcp_sign_in", text };
  await chat.commit([newEvent(ids.make("event"), "notice.added", data, runId)]);
  await chat.commit([aRunState(runId, "completed")]);
  expect(await finder.find(time.now, time.now)).toMatchObject([{ type: "sign_in_needed", runId }]);
  expect(await find(time.now)).toEqual([]);
});
