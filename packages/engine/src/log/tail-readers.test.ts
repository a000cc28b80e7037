import type { SessionId } from "@holdfast/protocol";
import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { aNotice, anOwner } from "@holdfast/testing/fixtures/factories";
import { followFrom, nextSeqs, openTailRig, type TailRig } from "@holdfast/testing/rigs/tail-rig";
import { type StoreHarness } from "@holdfast/testing/conformance/harness";
import { nextTurn } from "@holdfast/testing/fakes/manual-clock";
import type { LogOptions } from "./log.ts";

let harness: StoreHarness;
beforeEach(async () => {
  harness = await referenceHarness.open();
});
afterEach(() => harness.close());
const rig = (options?: LogOptions): Promise<TailRig> => openTailRig(harness, options);

describe("a reader that is slow, fails or leaves", () => {
  test("a slow reader is cut off, released at once, and resumes from its cursor", async () => {
    const { follow, here, log } = await rig({ ring: { events: 3, bytes: 1e6 } });
    const slow = follow(1);
    const first = nextSeqs(slow);
    await nextTurn();
    await here("two");
    expect(await first).toEqual([2]);
    for (const text of ["three", "four", "five", "six"]) await here(text);
    expect(log.watchedSessions).toBe(0);
    expect((await slow.next()).value).toEqual({ kind: "cut", after: 2 });
    expect((await slow.next()).done).toBe(true);
    expect(await nextSeqs(follow(2))).toEqual([3, 4, 5, 6]);
  });

  test("bytes count as well as events, and one large commit alone cuts nobody off", async () => {
    const { follow, here } = await rig({ ring: { events: 100, bytes: 2_000 } });
    const slow = follow(1);
    const quick = follow(1);
    const first = [nextSeqs(slow), nextSeqs(quick)];
    await nextTurn();
    await here("x".repeat(5_000));
    expect(await Promise.all(first)).toEqual([[2], [2]]);
    await here("y".repeat(5_000));
    expect(await nextSeqs(quick)).toEqual([3]);
    await here("z");
    expect(await nextSeqs(quick)).toEqual([4]);
    expect((await slow.next()).value).toEqual({ kind: "cut", after: 2 });
  });

  test("a reader of old pages does not count as slow", async () => {
    const { follow, here } = await rig({ pageSize: 2, ring: { events: 2, bytes: 1e6 } });
    await here("two", "three", "four", "five");
    const current = follow(5);
    const waiting = nextSeqs(current);
    await nextTurn();
    const lagging = follow(0);
    expect(await nextSeqs(lagging)).toEqual([1, 2]);
    await here("six");
    await here("seven");
    await here("eight");
    expect(await waiting).toEqual([6]);
    expect(await nextSeqs(lagging)).toEqual([3, 4]);
    expect(await nextSeqs(lagging)).toEqual([5, 6]);
    expect(await nextSeqs(lagging)).toEqual([7, 8]);
  });

  test("an unreadable store is reported once, retried, and the cursor is kept", async () => {
    const { follow, elsewhere, clock, store } = await rig();
    const tail = follow(1);
    const first = tail.next();
    await nextTurn();
    store.gate.failing = true;
    await elsewhere.commit([aNotice()]);
    expect((await first).value).toEqual({
      kind: "status",
      reading: "failing",
      code: "store_unavailable",
    });
    const next = tail.next();
    await clock.advance(1_000);
    store.gate.failing = false;
    await clock.advance(1_000);
    expect((await next).value).toEqual({ kind: "status", reading: "restored" });
    expect(await nextSeqs(tail)).toEqual([2]);
  });

  test("another owner's session and a missing one are both gone", async () => {
    const { log, elsewhere, here } = await rig();
    const foreignTail = followFrom(log, anOwner(), elsewhere.session, 0);
    await here("two");
    expect((await foreignTail.next()).value).toEqual({ kind: "gone" });
    expect((await foreignTail.next()).done).toBe(true);
    const nonsense = followFrom(log, elsewhere.owner, "nonsense" as SessionId, 0);
    expect((await nonsense.next()).value).toEqual({ kind: "gone" });
    expect(log.watchedSessions).toBe(0);
  });

  test("an abort ends a wait and a hanging read, and releases everything", async () => {
    const { follow, log, store } = await rig();
    const leaving = new AbortController();
    const release = store.hold();
    const reading = follow(0, leaving.signal).next();
    await nextTurn();
    expect(store.gate.watches).toBe(1);
    leaving.abort();
    expect((await reading).done).toBe(true);
    expect(store.gate.watches).toBe(0);
    await release();
    const waiting = follow(1);
    const parked = waiting.next();
    await nextTurn();
    expect(log.watchedSessions).toBe(1);
    await waiting.return?.();
    expect((await parked).done).toBe(true);
    expect((await waiting.next()).done).toBe(true);
    expect([log.watchedSessions, store.gate.watches]).toEqual([0, 0]);
    expect((await follow(0, leaving.signal).next()).done).toBe(true);
    expect(store.gate.watches).toBe(0);
  });
});
