import { createCompactionLock, createCompactor } from "@holdfast/engine";
import { aHolder } from "@holdfast/testing/fixtures/factories";
import { says, type Script } from "@holdfast/testing/fakes/scripted-model";
import { executeCommand, parseInput } from "@holdfast/client";
import { ids } from "@holdfast/protocol";
import { describe, expect, onTestFinished, test } from "vitest";

import { type ApiRig, type ApiRigOptions, openApi } from "../../../test/support/api-rig.ts";
import { compatible, openModels, serveModels } from "../../../test/support/providers/served-rig.ts";
import { sendAndWait, newSession, shownTexts, valueOf } from "../../../test/support/api-helpers.ts";

function open(script: Script, options: ApiRigOptions = {}): ApiRig {
  const rig = openApi(script, options);
  onTestFinished(async () => {
    await rig.close();
    expect(rig.bugs).toEqual([]);
  });
  return rig;
}

/** Long enough that five of them overflow the window. */
const long = (text: string) => `${text} ${"word ".repeat(10_000)}`.trim();

/** Answers a conversation, and returns a summary when asked for one. */
const script: Script = ({ messages }) => {
  const first = messages[0];
  const isSummary = first?.role === "system" && first.text.includes("summary");
  return says(isSummary ? "They counted to five." : "Yes.");
};

async function talked(options: ApiRigOptions = {}) {
  const rig = open(script, options);
  const id = await newSession(rig);
  await sendAndWait(rig, id, ...["one", "two", "three", "four", "five"].map(long));
  return { rig, id, client: rig.client, params: { id } };
}

test("[S0.12] compacting over HTTP gives the model the summary, and the page keeps every message", async () => {
  const { rig, id, client, params } = await talked();
  const before = await shownTexts(rig, id);
  const answer = valueOf(await client.compact({ params, body: { focus: "numbers" } }));
  expect(answer).toEqual({ outcome: "started", sessionId: id });
  expect(await shownTexts(rig, id)).toEqual(before);
  await sendAndWait(rig, id, "And now?");
  const sent = JSON.stringify(rig.model.requests.at(-1));
  expect(sent).toContain("They counted to five.");
  expect(sent).not.toContain("two word");
  expect(JSON.stringify(rig.model.requests.at(-2))).toContain("numbers");
});

test.each(["/compact", "/compress the numbers"])(
  "[S0.12] %s, typed on any surface, compacts through the same lock",
  async (typed) => {
    const { rig, id, client } = await talked();
    const lock = createCompactionLock(rig.store.leases);
    const other = aHolder({ agent: "other" });
    const command = parseInput(typed);
    if (command.kind !== "command") throw new Error(`${typed} is no command.`);
    const type = (key: string) =>
      executeCommand({ client, sessionId: id, key, now: () => 0 }, command.invocation);
    await lock.acquire(id, other);
    expect(await type("one")).toEqual({ kind: "compacting", outcome: "deferred" });
    expect(await rig.store.reads.session(rig.owner, id)).toMatchObject({ epoch: 0 });
    await lock.release(id, other);
    expect(await type("two")).toEqual({ kind: "compacting", outcome: "started" });
    expect(await rig.store.reads.session(rig.owner, id)).toMatchObject({ epoch: 1 });
  },
);

test.each(["idle", "hygiene"] as const)(
  "[S0.12] automatic compaction (%s) takes the same lock",
  async (reason) => {
    const { rig, id: session } = await talked();
    const { owner } = rig;
    const compactor = createCompactor(rig.log, ids, {
      summariser: { summarise: async () => ({ status: "summarised", text: "They counted." }) },
    });
    const lock = createCompactionLock(rig.store.leases);
    const other = aHolder({ agent: "other" });
    await lock.acquire(session, other);
    const compact = () => compactor.compactNow({ owner, session }, reason, 30_000);
    expect(await compact()).toEqual({ status: "deferred", why: "held" });
    await lock.release(session, other);
    expect(await compact()).toMatchObject({ status: "compacted", epoch: 1 });
    expect(await lock.holder(session)).toBeNull();
  },
);

test("one request restores the whole conversation, and one the summary", async () => {
  const { rig, id, client, params } = await talked();
  valueOf(await client.compact({ params, body: {} }));
  const restored = valueOf(await client.restoreEpoch({ params: { id, n: 0 }, body: {} }));
  expect(restored.session.epoch).toBe(2);
  const again = valueOf(await client.restoreEpoch({ params: { id, n: 0 }, body: {} }));
  expect(again.session).toMatchObject({ epoch: 2, version: restored.session.version });
  await sendAndWait(rig, id, "And now?");
  expect(JSON.stringify(rig.model.requests.at(-1))).toContain("two word");
  valueOf(await client.restoreEpoch({ params: { id, n: 1 }, body: {} }));
  await sendAndWait(rig, id, "And then?");
  expect(JSON.stringify(rig.model.requests.at(-1))).not.toContain("two word");
  expect(await client.restoreEpoch({ params: { id, n: 7 }, body: {} })).toMatchObject({
    error: { code: "epoch_not_found" },
  });
});

test("compacting a short conversation is refused and changes nothing", async () => {
  const rig = open(script);
  const id = await newSession(rig);
  await sendAndWait(rig, id, "Hello");
  expect(await rig.client.compact({ params: { id }, body: {} })).toMatchObject({
    error: { code: "nothing_to_gain" },
  });
  expect(await shownTexts(rig, id)).toEqual(["Hello", "Yes."]);
});

test("a conversation that is short for its model is left alone, even if its server has not been asked before", async () => {
  const wide = { id: "wide", context_length: 2_000_000 };
  const server = await serveModels({ "/v1/models": { data: [wide] } });
  const models = openModels(compatible(server, { model: "openai-compatible/wide" }));
  const { client, params } = await talked({ models });
  const refused = await client.compact({ params, body: {} });
  expect(refused).toMatchObject({ ok: false, error: { problem: { code: "nothing_to_gain" } } });
});

describe("the context report", () => {
  test("lists tokens by kind, the epochs, and the turns with what explains a prefix change", async () => {
    const { rig, id, client, params } = await talked();
    const before = valueOf(await client.readContext({ params }));
    expect(before).toMatchObject({ sessionId: id, model: "scripted", epoch: 0, epochs: [] });
    expect(before.turns).toHaveLength(5);
    expect(before.turns.flatMap(({ changes }) => changes)).toEqual([]);
    expect(before.tokens.summary).toBe(0);
    valueOf(await client.compact({ params, body: {} }));
    await sendAndWait(rig, id, "And now?");
    const after = valueOf(await client.readContext({ params, query: { turns: 2 } }));
    const [epoch] = after.epochs;
    expect(after).toMatchObject({ epoch: 1, more: true });
    expect(after.epochs).toMatchObject([{ epoch: 1, restores: null }]);
    expect(after.turns).toHaveLength(2);
    expect(after.turns[0]?.changes).toMatchObject([
      {
        part: "conversation",
        explainedBy: { seq: epoch?.seq, type: "context.compacted", cause: null },
      },
    ]);
    expect(after.tokens.summary).toBeGreaterThan(0);
    expect(after.tokens.user).toBeLessThan(before.tokens.user / 2);
    const { total, ...kinds } = after.tokens;
    expect(Object.values(kinds).reduce<number>((sum, each) => sum + Number(each), 0)).toBe(total);
  });

  test("shows how much the provider had cached, per turn and in total", async () => {
    const usages = [
      { input: 100, output: 10, cacheRead: 0, cacheWrite: 100, costMicros: 400 },
      { input: 120, output: 10, cacheRead: 90, cacheWrite: 20, costMicros: 100 },
    ];
    const rig = open(usages.map((usage) => [...says("Yes."), { kind: "usage" as const, usage }]));
    const id = await newSession(rig);
    await sendAndWait(rig, id, "One", "Two");
    const shownNow = valueOf(await rig.client.readContext({ params: { id } }));
    expect(shownNow.turns.map(({ usage }) => usage.hitShare)).toEqual([0.75, 0]);
    expect(shownNow.totals).toMatchObject({ cacheRead: 90, costMicros: 500, calls: 2 });
    expect(shownNow.totals.hitShare).toBeCloseTo(90 / 220);
  });

  test("explains a cut by its reason", async () => {
    const { rig, id, client, params } = await talked();
    valueOf(await client.undo({ params, body: {} }));
    await sendAndWait(rig, id, "Again");
    const { turns } = valueOf(await client.readContext({ params }));
    expect(turns[0]?.changes).toMatchObject([
      { part: "conversation", explainedBy: { type: "history.cut", cause: "undo" } },
    ]);
  });

  test("of a missing session is not found", async () => {
    const rig = open([]);
    const answer = await rig.client.readContext({ params: { id: ids.make("session") } });
    expect(answer).toMatchObject({ error: { code: "session_not_found" } });
  });
});
