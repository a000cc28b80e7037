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

function happens(at: number, more: Partial<Attention> = {}): Attention {
  const runId = ids.make("run");
  return {
    id: attentionId(runId, at),
    type: "run_failed",
    session: ids.make("session"),
    at,
    runId,
    ...more,
  };
}

function taking(state: NoticeState, found: readonly Attention[], at: number): NoticeState {
  const { state: next } = enqueueNotices(state, found, at);
  if (next === null) throw new Error("Nothing was taken up.");
  return next;
}

test("what was before the first look is nobody's any more", () => {
  const now = 1_000_000;
  expect(enqueueNotices(emptyNoticeState(now), [happens(now - 1)], now + 1).state).toBeNull();
});

test("what comes to light late is taken up, and what is found again is not", () => {
  const [soon, late] = [happens(1_000_100), happens(1_000_050)];
  const state = taking(emptyNoticeState(1_000_000), [soon], 1_020_000);
  const both = taking(state, [late, soon], 1_040_000);
  expect(both.owed.map(({ at }) => at)).toEqual([soon.at, late.at]);
  expect(enqueueNotices(both, [late, soon], 1_050_000).state).toBeNull();
});

test("the row stays within what a register takes, and what finds no room keeps its place", () => {
  const found = Array.from({ length: 500 }, (_, each) =>
    happens(1_000_001 + each, { cause: "c".repeat(100), approvalId: ids.make("approval") }),
  );
  let state = emptyNoticeState(1_000_000);
  const told = new Set<string>();
  for (let now = 1_001_000; told.size < found.length; now += 10_000) {
    const taken = enqueueNotices(state, found, now);
    state = taken.state ?? state;
    for (;;) {
      const claim = claimNext(state, now, aHolder(), { isDead: () => "dead" });
      if (claim === null) break;
      expect(JSON.stringify(claim.state).length).toBeLessThan(16_000);
      expect(told.has(claim.item.id)).toBe(false);
      told.add(claim.item.id);
      state = settleNotice(
        noticeState.parse(JSON.parse(JSON.stringify(claim.state))),
        claim.item.id,
        "over",
      );
    }
    expect(now).toBeLessThan(2_000_000);
  }
  expect(told.size).toBe(500);
});

test("a day's limit and a memory that is stuck are told once a day", () => {
  const day = 24 * 3_600_000;
  const spent = (at: number): Attention => happens(at, { type: "spend_limit", cause: "spend_day" });
  const first = taking(emptyNoticeState(0), [spent(1), spent(2)], 10);
  expect(first.owed).toHaveLength(1);
  expect(enqueueNotices(first, [spent(20)], 30).state).toBeNull();
  expect(taking(first, [spent(day + 1)], day + 2).owed).toHaveLength(2);
});

test("a try is counted before it is made, and each pause is longer", () => {
  let state = taking(emptyNoticeState(0), [happens(1)], 2);
  const me = aHolder();
  let now = 2;
  const pauses: number[] = [];
  for (let tries = 0; tries < 14; tries += 1) {
    const claim = claimNext(state, now, me, alive);
    if (claim === null) throw new Error("It is due.");
    pauses.push(claim.item.retryAt - now);
    expect(claimNext(claim.state, now, me, alive)).toBeNull();
    now = claim.item.retryAt;
    state = settleNotice(claim.state, claim.item.id, "later");
  }
  expect(pauses.slice(0, 4)).toEqual([1_000, 2_000, 4_000, 8_000]);
  expect(pauses.at(-1)).toBe(1_800_000);
});

test("while one sends nobody else does, unless its time is over or it is proven dead", () => {
  const state = taking(emptyNoticeState(0), [happens(1), happens(2)], 3);
  const claim = claimNext(state, 10, aHolder(), alive);
  if (claim === null) throw new Error("It is due.");
  const other = aHolder();
  expect(claimNext(claim.state, 5_000, other, alive)).toBeNull();
  expect(claimNext(claim.state, 5_000, other, { isDead: () => "dead" })).not.toBeNull();
  expect(claimNext(claim.state, 60_000, other, alive)).not.toBeNull();
  const settled = settleNotice(claim.state, claim.item.id, "later");
  expect(claimNext(settled, 11, other, alive)?.item.at).toBe(2);
});

test("a clock that was far ahead and is put right keeps nothing from being told", () => {
  const [ahead, now] = [Date.parse("2090-01-01"), Date.parse("2026-11-18")];
  const spent = { type: "spend_limit", cause: "spend_day" } as const;
  const early = taking(emptyNoticeState(now), [happens(ahead), happens(ahead, spent)], ahead);
  const claimed = claimNext(early, ahead, aHolder(), alive);
  const state = taking(clampToClock(claimed!.state, now), [happens(now), happens(now, spent)], now);
  expect(state.owed).toHaveLength(4);
  expect(claimNext(state, now, aHolder(), alive)?.item.retryAt).toBeLessThan(now + 10_000);
  expect(clampToClock(state, now)).toBe(state);
});
