import type { StoredEvent } from "@holdfast/protocol";
import { describe, expect, test } from "vitest";

import { aNotice, toSeq } from "@holdfast/testing/fixtures/factories";
import { seqsOf } from "@holdfast/testing/fixtures/open-session";
import { EventRing, type EventSpan } from "./feed.ts";

const event = (seq: number): StoredEvent => ({ ...aNotice(), seq: toSeq(seq), at: 0 });
const span = (after: number, upTo: number): EventSpan => ({
  after: toSeq(after),
  upTo: toSeq(upTo),
  events: Array.from({ length: upTo - after }, (_, index) => event(after + 1 + index)),
});
const ringOf = (from: number, events = 100): EventRing =>
  new EventRing(toSeq(from), { events, bytes: 1e6 });

describe("an event ring", () => {
  test("appends what follows, the new part of an overlap, and nothing after a gap", () => {
    const ring = ringOf(4);
    expect(ring.append(span(4, 6))).toBe(true);
    expect(ring.append(span(7, 9))).toBe(false);
    expect(ring.append(span(2, 6))).toBe(false);
    expect(ring.append(span(3, 8))).toBe(true);
    expect(seqsOf(ring.after(toSeq(4))?.events ?? [])).toEqual([5, 6, 7, 8]);
    expect(seqsOf(ring.after(toSeq(6))?.events ?? [])).toEqual([7, 8]);
    expect(seqsOf(ring.after(toSeq(7))?.events ?? [])).toEqual([8]);
  });

  test("answers only for cursors that it covers", () => {
    const ring = ringOf(4);
    ring.append(span(4, 6));
    expect([3, 6, 7].map((cursor) => ring.after(toSeq(cursor)))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  test("drops its oldest spans and keeps the newest, whatever its size", () => {
    const ring = ringOf(0, 3);
    ring.append(span(0, 2));
    ring.append(span(2, 4));
    expect([ring.from, ring.to]).toEqual([2, 4]);
    ring.append(span(4, 14));
    expect([ring.from, ring.to]).toEqual([4, 14]);
  });
});
