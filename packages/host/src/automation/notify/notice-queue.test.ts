import { aHolder } from "@holdfast/testing/fixtures/factories";
import { ids } from "@holdfast/protocol";
import { expect, test } from "vitest";

import { type Attention, attentionId } from "./attention.ts";
import {
  clampToClock,
  claimNext,
  emptyNoticeState,
  noticeState,
  type NoticeState,
  settleNotice,
  enqueueNotices,
} from "./notice-queue.ts";

const alive = { isDead: () => "alive" as const };

function anAttention(at: number, overrides: Partial<Attention> = {}): Attention {
  const runId = ids.make("run");
  return {
    id: attentionId(runId, at),
    type: "run_failed",
    session: ids.make("session"),
    at,
    runId,
    ...overrides,
  };
}

function enqueue(state: NoticeState, found: readonly Attention[], at: number): NoticeState {
  const { state: next } = enqueueNotices(state, found, at);
  if (next === null) throw new Error("Nothing was queued.");
  return next;
}

test("events before the first scan are ignored", () => {
  const now = 1_000_000;
  expect(enqueueNotices(emptyNoticeState(now), [anAttention(now - 1)], now + 1).state).toBeNull();
});

test("an event that becomes visible late is queued, and one found again is not", () => {
  const [soon, late] = [anAttention(1_000_100), anAttention(1_000_050)];
  const state = enqueue(emptyNoticeState(1_000_000), [soon], 1_020_000);
  const both = enqueue(state, [late, soon], 1_040_000);
  expect(both.owed.map(({ at }) => at)).toEqual([soon.at, late.at]);
  expect(enqueueNotices(both, [late, soon], 1_050_000).state).toBeNull();
});

test("the row stays within the register's limit, and events that don't fit are queued later", () => {
  const found = Array.from({ length: 500 }, (_, index) =>
    anAttention(1_000_001 + index, { cause: "c".repeat(100), approvalId: ids.make("approval") }),
  );
  let state = emptyNoticeState(1_000_000);
  const sent = new Set<string>();
  for (let now = 1_001_000; sent.size < found.length; now += 10_000) {
    const result = enqueueNotices(state, found, now);
    state = result.state ?? state;
    for (;;) {
      const claim = claimNext(state, now, aHolder(), { isDead: () => "dead" });
      if (claim === null) break;
      expect(JSON.stringify(claim.state).length).toBeLessThan(16_000);
      expect(sent.has(claim.item.id)).toBe(false);
      sent.add(claim.item.id);
      state = settleNotice(
        noticeState.parse(JSON.parse(JSON.stringify(claim.state))),
        claim.item.id,
        "done",
      );
    }
    expect(now).toBeLessThan(2_000_000);
  }
  expect(sent.size).toBe(500);
});

test("a daily spend limit and stuck memory are reported once a day", () => {
  const day = 24 * 3_600_000;
  const spent = (at: number): Attention =>
    anAttention(at, { type: "spend_limit", cause: "spend_day" });
  const first = enqueue(emptyNoticeState(0), [spent(1), spent(2)], 10);
  expect(first.owed).toHaveLength(1);
  expect(enqueueNotices(first, [spent(20)], 30).state).toBeNull();
  expect(enqueue(first, [spent(day + 1)], day + 2).owed).toHaveLength(2);
});

test("an attempt is counted before it is made, and each delay is longer", () => {
  let state = enqueue(emptyNoticeState(0), [anAttention(1)], 2);
  const holder = aHolder();
  let now = 2;
  const delays: number[] = [];
  for (let attempt = 0; attempt < 14; attempt += 1) {
    const claim = claimNext(state, now, holder, alive);
    if (claim === null) throw new Error("It is due.");
    delays.push(claim.item.retryAt - now);
    expect(claimNext(claim.state, now, holder, alive)).toBeNull();
    now = claim.item.retryAt;
    state = settleNotice(claim.state, claim.item.id, "retry");
  }
  expect(delays.slice(0, 4)).toEqual([1_000, 2_000, 4_000, 8_000]);
  expect(delays.at(-1)).toBe(1_800_000);
});

test("only one host sends at a time, unless its lease has expired or it is proven dead", () => {
  const state = enqueue(emptyNoticeState(0), [anAttention(1), anAttention(2)], 3);
  const claim = claimNext(state, 10, aHolder(), alive);
  if (claim === null) throw new Error("It is due.");
  const other = aHolder();
  expect(claimNext(claim.state, 5_000, other, alive)).toBeNull();
  expect(claimNext(claim.state, 5_000, other, { isDead: () => "dead" })).not.toBeNull();
  expect(claimNext(claim.state, 60_000, other, alive)).not.toBeNull();
  const settled = settleNotice(claim.state, claim.item.id, "retry");
  expect(claimNext(settled, 11, other, alive)?.item.at).toBe(2);
});

test("a clock that was far ahead and is corrected delays no notice", () => {
  const [ahead, now] = [Date.parse("2090-01-01"), Date.parse("2026-11-18")];
  const spent = { type: "spend_limit", cause: "spend_day" } as const;
  const queuedAhead = enqueue(
    emptyNoticeState(now),
    [anAttention(ahead), anAttention(ahead, spent)],
    ahead,
  );
  const claimed = claimNext(queuedAhead, ahead, aHolder(), alive);
  const state = enqueue(
    clampToClock(claimed!.state, now),
    [anAttention(now), anAttention(now, spent)],
    now,
  );
  expect(state.owed).toHaveLength(4);
  expect(claimNext(state, now, aHolder(), alive)?.item.retryAt).toBeLessThan(now + 10_000);
  expect(clampToClock(state, now)).toBe(state);
});
