import {
  type OwnerId,
  runState,
  type Seq,
  type SessionId,
  terminalStates,
  type StoredEvent,
  type Backoff,
  backoffMs,
} from "@holdfast/protocol";
import type { Clock, Random } from "../ports/clock.ts";
import { type EventPage } from "../ports/reads.ts";
import { type Store, StoreFailure, type WatchPace } from "../ports/store.ts";
import { measureJson } from "./check-commit.ts";

export interface FeedDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly ring: RingLimits;
  readonly pageSize: number;
  /** A reader further behind has to read the session anew. */
  readonly maxBehind: number;
  /** For this long after a local write to the session, its readers do not look for writes of other processes. */
  readonly leadMs: number;
  readonly backoff: Backoff;
  /** Called with the newest event of each page that was read. */
  readonly onRead?: (owner: OwnerId, session: SessionId, event: StoredEvent) => void;
}

/** A reader of the feed. */
export interface Follower {
  readonly cursor: Seq;
  /** There may be something to take or to read. */
  onChange(): void;
  /** Events it had not taken yet were dropped. */
  onOvertaken(): void;
  /** The database has lost events: what it was shown may not be stored. */
  onRewound(): void;
}

/** `turn` numbers the reads of a feed in the order they started. */
export type ReadOutcome =
  | { readonly status: "page"; readonly page: EventPage; readonly turn: number }
  | { readonly status: "gone" }
  | { readonly status: "failed"; readonly failure: StoreFailure };

/**
 * One session as shared by its readers in this process: one watch on the store, one ring of recent events, and one read
 * for all readers at the same cursor.
 */
export class Feed {
  readonly #store: Store;
  readonly #owner: OwnerId;
  readonly #session: SessionId;
  readonly #options: FeedDeps;
  readonly #followers = new Set<Follower>();
  readonly #reads = new Map<Seq, Promise<ReadOutcome>>();
  readonly #closing = new AbortController();
  #unwatch: () => void;
  #pace: WatchPace = "calm";
  #ring: EventRing | null = null;
  /** The turn of the last read that had started when the ring got its end. */
  #ringTurn = 0;
  #turns = 0;
  /** Hints that there is more, and how many of them the newest complete read has covered. */
  #wakes = 0;
  #coveredWakes = 0;
  #deferred = false;
  #publishedAt = -Infinity;
  #failures = 0;
  #pause: Promise<void> | null = null;

  constructor(store: Store, owner: OwnerId, session: SessionId, options: FeedDeps) {
    this.#store = store;
    this.#owner = owner;
    this.#session = session;
    this.#options = options;
    // Watch before the first read, so that any later commit wakes us.
    this.#unwatch = store.watch(session, this.#pace, () => this.#onWake());
  }

  get readCount(): number {
    return this.#turns;
  }

  get isFollowed(): boolean {
    return this.#followers.size > 0;
  }

  get maxBehind(): number {
    return this.#options.maxBehind;
  }

  follow(follower: Follower): void {
    this.#followers.add(follower);
  }

  unfollow(follower: Follower): void {
    this.#followers.delete(follower);
  }

  close(): void {
    this.#unwatch();
    this.#closing.abort();
    this.#ring = null;
  }

  take(cursor: Seq): EventSpan | undefined {
    return this.#ring?.after(cursor);
  }

  /** Where this cursor has to read from; `undefined` if it has everything known. */
  nextReadCursor(cursor: Seq): Seq | undefined {
    if (this.#ring === null || cursor < this.#ring.from) return cursor;
    const isCurrent = cursor === this.#ring.to && this.#wakes === this.#coveredWakes;
    return isCurrent ? undefined : this.#ring.to;
  }

  /** Events committed in this process: durable, with the seqs that follow `after`. */
  publish(span: EventSpan): void {
    this.#publishedAt = this.#options.clock.now();
    if (span.events.some((event) => event.runId !== undefined)) this.#watchWithPace("calm");
    if (this.#ring === null || span.after > this.#ring.to) return this.wake();
    this.#extend(span);
  }

  wake(): void {
    this.#wakes += 1;
    this.#notifyFollowers();
  }

  /** The database has lost events of this session: every reader has to read it anew. */
  rewind(): void {
    this.#ring = null;
    this.#wakes += 1;
    for (const follower of this.#followers) follower.onRewound();
  }

  read(after: Seq): Promise<ReadOutcome> {
    const pendingRead = this.#reads.get(after);
    if (pendingRead !== undefined) return pendingRead;
    const reading = this.#readPage(after).finally(() => this.#reads.delete(after));
    this.#reads.set(after, reading);
    return reading;
  }

  async #readPage(after: Seq): Promise<ReadOutcome> {
    if (this.#pause !== null) await this.#pause;
    this.#turns += 1;
    const turn = this.#turns;
    const wakes = this.#wakes;
    try {
      const limit = this.#options.pageSize;
      const page = await this.#store.reads.events(this.#owner, this.#session, { after, limit });
      this.#failures = 0;
      if (page === null) return { status: "gone" };
      const newest = page.events.at(-1);
      if (newest !== undefined) this.#options.onRead?.(this.#owner, this.#session, newest);
      if (!this.#closing.signal.aborted) this.#absorb(after, page, turn, wakes);
      return { status: "page", page, turn };
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
      this.#pause ??= this.#backOff();
      return { status: "failed", failure: error };
    }
  }

  #absorb(after: Seq, page: EventPage, turn: number, wakes: number): void {
    // While we write ourselves, a read may see our own commits before they are published.
    if (!this.#isWritingHere()) this.#watchWithPace(paceAfter(page, this.#pace));
    const span = spanOfPage(after, page);
    const ring = this.#ring;
    const isHeadBehind = ring !== null && page.head < ring.to && turn > this.#ringTurn;
    const isFar = ring !== null && page.head - ring.to > this.#options.maxBehind;
    if (isHeadBehind || isFar) {
      this.#ring = null;
      return this.#notifyFollowers();
    }
    if (!page.more) this.#coveredWakes = Math.max(this.#coveredWakes, wakes);
    if (ring !== null) return this.#extend(span);
    if (page.more || page.head < after) return;
    this.#ring = new EventRing(after, this.#options.ring);
    this.#ringTurn = this.#turns;
    this.#extend(span);
  }

  #extend(span: EventSpan): void {
    const ring = this.#ring;
    if (ring === null) return;
    const from = ring.from;
    if (!ring.append(span)) return;
    this.#ringTurn = this.#turns;
    this.#notifyFollowers();
    for (const follower of this.#followers) {
      // A reader still on older pages was never in the ring, so it is not slow.
      if (follower.cursor >= from && follower.cursor < ring.from) follower.onOvertaken();
    }
    this.#dropTaken(ring);
  }

  /** Events that every reader has are garbage at once: kept for longer, each of them would be copied by two collections. */
  #dropTaken(ring: EventRing): void {
    let oldest = ring.to;
    for (const { cursor } of this.#followers) if (cursor < oldest) oldest = cursor;
    ring.drop(oldest);
  }

  #notifyFollowers(): void {
    for (const follower of this.#followers) follower.onChange();
  }

  /** A store also wakes us for our own commits; those arrive through `publish` and need no read. */
  #onWake(): void {
    if (!this.#isWritingHere()) return this.wake();
    if (this.#deferred) return;
    this.#deferred = true;
    void this.#wakeLater();
  }

  #isWritingHere(): boolean {
    const { clock, leadMs } = this.#options;
    return clock.now() - this.#publishedAt < leadMs;
  }

  /** Wakes once we have stopped writing: until then, a gap before our own seqs reveals writes of others. */
  async #wakeLater(): Promise<void> {
    const { clock, leadMs } = this.#options;
    while (this.#isWritingHere() && !this.#closing.signal.aborted)
      await clock.sleep(this.#publishedAt + leadMs - clock.now(), this.#closing.signal);
    this.#deferred = false;
    if (!this.#closing.signal.aborted) this.wake();
  }

  async #backOff(): Promise<void> {
    const { clock, random, backoff } = this.#options;
    const ms = backoffMs(backoff, this.#failures, random);
    this.#failures += 1;
    await clock.sleep(ms, this.#closing.signal);
    this.#pause = null;
  }

  #watchWithPace(pace: WatchPace): void {
    if (pace === this.#pace || this.#closing.signal.aborted) return;
    const unwatch = this.#unwatch;
    this.#pace = pace;
    this.#unwatch = this.#store.watch(this.#session, pace, () => this.#onWake());
    unwatch();
    // Writes made before the new watch, and not yet reported by the old one, would go unnoticed.
    this.wake();
  }
}

function spanOfPage(after: Seq, { events, head, more }: EventPage): EventSpan {
  const last = events.at(-1)?.seq ?? after;
  return { after, upTo: more ? last : head, events };
}

/** Run events found by reading come from another process: then watch for its writes more often. */
function paceAfter({ events }: EventPage, previous: WatchPace): WatchPace {
  const last = events.findLast((event) => event.runId !== undefined);
  if (last === undefined) return previous;
  const state = runState.safeParse(last.type === "run.state" && last.data["state"]);
  return state.success && terminalStates.has(state.data) ? "calm" : "live";
}

export interface RingLimits {
  readonly events: number;
  readonly bytes: number;
}

/** Every readable event after `after` up to and including `upTo`. */
export interface EventSpan {
  readonly after: Seq;
  readonly upTo: Seq;
  readonly events: readonly StoredEvent[];
}

/**
 * The newest events of one session without a gap: span by span, each starting where the previous one ends. The newest
 * span is kept whatever its size, so a reader who has everything before it never misses it.
 */
export class EventRing {
  readonly #limits: RingLimits;
  #spans: (EventSpan & { readonly bytes: number })[] = [];
  #events = 0;
  #bytes = 0;
  #from: Seq;
  #to: Seq;

  constructor(at: Seq, limits: RingLimits) {
    this.#from = at;
    this.#to = at;
    this.#limits = limits;
  }

  /** The seq before the oldest event still here. */
  get from(): Seq {
    return this.#from;
  }

  get to(): Seq {
    return this.#to;
  }

  /** Appends the new part of a span. `false` if there is a gap before it, or nothing new. */
  append({ after, upTo, events }: EventSpan): boolean {
    if (after > this.#to || upTo <= this.#to) return false;
    const fresh = after === this.#to ? events : events.filter((event) => event.seq > this.#to);
    const bytes = fresh.reduce((sum, event) => sum + roughBytes(event), 0);
    this.#spans.push({ after: this.#to, upTo, events: fresh, bytes });
    this.#to = upTo;
    this.#events += fresh.length;
    this.#bytes += bytes;
    this.#trim();
    return true;
  }

  /** Everything after the cursor, or nothing if the ring does not reach back to it. */
  after(cursor: Seq): EventSpan | undefined {
    if (cursor < this.#from || cursor >= this.#to) return undefined;
    const needed = this.#spans.slice(this.#indexOfSpan(cursor));
    const [only] = needed;
    // The common case: every reader gets the very same list.
    if (needed.length === 1 && only?.after === cursor) return only;
    const events = needed.flatMap((span) => span.events).filter(({ seq }) => seq > cursor);
    return { after: cursor, upTo: this.#to, events };
  }

  /** The span with the event after the cursor. Readers are nearly always at the end, so the search starts there. */
  #indexOfSpan(cursor: Seq): number {
    let spanIndex = this.#spans.length - 1;
    while (spanIndex > 0 && (this.#spans[spanIndex]?.after ?? 0) > cursor) spanIndex -= 1;
    return spanIndex;
  }

  /** Drops the spans up to this seq. */
  drop(upTo: Seq): void {
    for (let span = this.#spans[0]; span !== undefined && span.upTo <= upTo; span = this.#spans[0])
      this.#dropOldest(span);
  }

  #trim(): void {
    const { events, bytes } = this.#limits;
    while (this.#events > events || this.#bytes > bytes) {
      const [oldest, next] = this.#spans;
      if (oldest === undefined || next === undefined) return;
      this.#dropOldest(oldest);
    }
  }

  #dropOldest({ events, bytes, upTo }: EventSpan & { readonly bytes: number }): void {
    this.#spans.shift();
    this.#events -= events.length;
    this.#bytes -= bytes;
    this.#from = upTo;
  }
}

function roughBytes(event: StoredEvent): number {
  const measured = measureJson(event.data);
  return 200 + (measured.status === "plain" ? measured.atMost / 3 : 0);
}
