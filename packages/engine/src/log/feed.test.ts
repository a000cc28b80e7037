import type { StoredEvent } from "@holdfast/protocol";
import { describe, expect, test } from "vitest";

import { aNotice, anOwner, toSeq } from "@holdfast/testing/fixtures/factories";
import { seqsOf } from "@holdfast/testing/fixtures/open-session";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { systemClock } from "../ports/clock.ts";
import { EventRing, type EventSpan, Feed, type FeedDeps, type Follower } from "./feed.ts";
import { createLog } from "./log.ts";

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

const feedDeps: FeedDeps = {
  clock: systemClock,
  random: Math.random,
  ring: { events: 100, bytes: 1e6 },
  pageSize: 10,
  maxBehind: 100,
  leadMs: 250,
  backoff: { firstMs: 1, longestMs: 1 },
};

/** Takes what there is as soon as it is told. */
class TakingFollower implements Follower {
  cursor = toSeq(1);
  readonly #feed: Feed;

  constructor(feed: Feed) {
    this.#feed = feed;
    feed.follow(this);
  }

  onChange(): void {
    this.cursor = this.#feed.take(this.cursor)?.upTo ?? this.cursor;
  }

  onOvertaken(): void {}
  onRewound(): void {}
}

describe("a feed", () => {
  test("[P12] keeps what one of its readers still needs, and nothing that all of them have", async () => {
    const store = createReferenceStore();
    const owner = anOwner();
    const { session } = await createLog(store).createSession({ owner });
    const feed = new Feed(store, owner, session, feedDeps);
    const quick = new TakingFollower(feed);
    await feed.read(toSeq(1));

    const slow: Follower = { cursor: toSeq(1), onChange() {}, onOvertaken() {}, onRewound() {} };
    feed.follow(slow);
    feed.publish(span(1, 3));
    expect(quick.cursor).toBe(3);
    expect(seqsOf(feed.take(slow.cursor)?.events ?? [])).toEqual([2, 3]);

    feed.unfollow(slow);
    feed.publish(span(3, 5));
    expect(quick.cursor).toBe(5);
    expect([1, 3].map((cursor) => feed.take(toSeq(cursor)))).toEqual([undefined, undefined]);
    expect(feed.nextReadCursor(toSeq(3))).toBe(3);
    expect(feed.nextReadCursor(quick.cursor)).toBeUndefined();
    feed.close();
  });
});
