import {
  type OwnerId,
  runState,
  type Seq,
  type SessionId,
  terminalStates,
  type StoredEvent,
} from "@holdfast/protocol";
import { type Clock, type Random, type Backoff, backoffMs } from "../ports/clock.ts";
import { type EventPage } from "../ports/reads.ts";
import { type Store, StoreFailure, type WatchPace } from "../ports/store.ts";
import { measureJson } from "./check-commit.ts";

export interface FeedDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly ring: RingLimits;
  readonly pageSize: number;
  /** A reader further behind is told to read the session anew. */
  readonly maxBehind: number;
  /** While this process itself has just written to the session, its readers do not look for others' writes. */
  readonly leadMs: number;
  readonly backoff: Backoff;
}

/** A reader of the feed. */
export interface Follower {
  readonly cursor: Seq;
  /** There may be something to take or to read. */
  onChange(): void;
  /** What it had not taken yet has been dropped. */
  onOvertaken(): void;
}

/** `turn` counts the reads of a feed in the order in which they began. */
export type ReadOutcome =
  | { readonly status: "page"; readonly page: EventPage; readonly turn: number }
  | { readonly status: "gone" }
  | { readonly status: "failed"; readonly failure: StoreFailure };

/**
 * One session as its readers in this process share it: one watch on the store, one ring of recent events, and one
 * read for all who stand at the same place.
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
  /** The turn of the last read that had begun when the ring got its end. */
  #ringTurn = 0;
  #turns = 0;
  /** Hints that there is more, and how many of them the newest complete read has answered. */
  #wakes = 0;
  #answered = 0;
  #deferred = false;
  #publishedAt = -Infinity;
  #failures = 0;
  #pause: Promise<void> | null = null;

  constructor(store: Store, owner: OwnerId, session: SessionId, options: FeedDeps) {
    this.#store = store;
    this.#owner = owner;
    this.#session = session;
    this.#options = options;
    // Before the first read: what is committed after it will wake us.
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

  /** Where to read for this cursor; nowhere when it has all that is known to be there. */
  nextReadCursor(cursor: Seq): Seq | undefined {
    if (this.#ring === null || cursor < this.#ring.from) return cursor;
    const isCurrent = cursor === this.#ring.to && this.#wakes === this.#answered;
    return isCurrent ? undefined : this.#ring.to;
  }

  /** Events that were committed here: durable, and with the numbers that follow `after`. */
  publish(stretch: EventSpan): void {
    this.#publishedAt = this.#options.clock.now();
    if (stretch.events.some((event) => event.runId !== undefined)) this.#watchAt("calm");
    if (this.#ring === null || stretch.after > this.#ring.to) return this.wake();
    this.#extend(stretch);
  }

  wake(): void {
    this.#wakes += 1;
    this.#tellFollowers();
  }

  read(after: Seq): Promise<ReadOutcome> {
    const underWay = this.#reads.get(after);
    if (underWay !== undefined) return underWay;
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
      if (!this.#closing.signal.aborted) this.#absorb(after, page, turn, wakes);
      return { status: "page", page, turn };
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
      this.#pause ??= this.#waitOut();
      return { status: "failed", failure: error };
    }
  }

  #absorb(after: Seq, page: EventPage, turn: number, wakes: number): void {
    // While we write ourselves, a read may meet our own commits before they are published.
    if (!this.#leads()) this.#watchAt(paceAfter(page, this.#pace));
    const stretch = spanOfPage(after, page);
    const ring = this.#ring;
    const wentBack = ring !== null && page.head < ring.to && turn > this.#ringTurn;
    const isFar = ring !== null && page.head - ring.to > this.#options.maxBehind;
    if (wentBack || isFar) {
      this.#ring = null;
      return this.#tellFollowers();
    }
    if (!page.more) this.#answered = Math.max(this.#answered, wakes);
    if (ring !== null) return this.#extend(stretch);
    if (page.more || page.head < after) return;
    this.#ring = new EventRing(after, this.#options.ring);
    this.#ringTurn = this.#turns;
    this.#extend(stretch);
  }

  #extend(stretch: EventSpan): void {
    const ring = this.#ring;
    if (ring === null) return;
    const from = ring.from;
    if (!ring.append(stretch)) return;
    this.#ringTurn = this.#turns;
    this.#tellFollowers();
    for (const follower of this.#followers) {
      // One that is still on its way through older pages was never in the ring, and is not slow.
      if (follower.cursor >= from && follower.cursor < ring.from) follower.onOvertaken();
    }
  }

  #tellFollowers(): void {
    for (const follower of this.#followers) follower.onChange();
  }

  /** A store wakes us for our own commits too; those come by `publish` and need no read. */
  #onWake(): void {
    if (!this.#leads()) return this.wake();
    if (this.#deferred) return;
    this.#deferred = true;
    void this.#wakeLater();
  }

  #leads(): boolean {
    const { clock, leadMs } = this.#options;
    return clock.now() - this.#publishedAt < leadMs;
  }

  /** When we have stopped writing: until then, a hole before our own numbers tells of others' writes. */
  async #wakeLater(): Promise<void> {
    const { clock, leadMs } = this.#options;
    while (this.#leads() && !this.#closing.signal.aborted)
      await clock.sleep(this.#publishedAt + leadMs - clock.now(), this.#closing.signal);
    this.#deferred = false;
    if (!this.#closing.signal.aborted) this.wake();
  }

  async #waitOut(): Promise<void> {
    const { clock, random, backoff } = this.#options;
    const ms = backoffMs(backoff, this.#failures, random);
    this.#failures += 1;
    await clock.sleep(ms, this.#closing.signal);
    this.#pause = null;
  }

  #watchAt(pace: WatchPace): void {
    if (pace === this.#pace || this.#closing.signal.aborted) return;
    const unwatch = this.#unwatch;
    this.#pace = pace;
    this.#unwatch = this.#store.watch(this.#session, pace, () => this.#onWake());
    unwatch();
    // What was written before the new watch, and was still to be told by the old one, is told by nobody.
    this.wake();
  }
}

function spanOfPage(after: Seq, { events, head, more }: EventPage): EventSpan {
  const last = events.at(-1)?.seq ?? after;
  return { after, upTo: more ? last : head, events };
}

/** A run's events that were found by reading come from elsewhere: then others' writes are looked for often. */
function paceAfter({ events }: EventPage, before: WatchPace): WatchPace {
  const last = events.findLast((event) => event.runId !== undefined);
  if (last === undefined) return before;
  const state = runState.safeParse(last.type === "run.state" && last.data["state"]);
  return state.success && terminalStates.has(state.data) ? "calm" : "live";
}

export interface RingLimits {
  readonly events: number;
  readonly bytes: number;
}

/** Every event after `after`, up to and with `upTo`, that was there to read. */
export interface EventSpan {
  readonly after: Seq;
  readonly upTo: Seq;
  readonly events: readonly StoredEvent[];
}

/**
 * The newest events of one session, without a hole: stretch by stretch, each beginning where the last one ends. The
 * newest stretch is kept whatever its size, so that a reader who has everything before it never misses it.
 */
export class EventRing {
  readonly #limits: RingLimits;
  #stretches: (EventSpan & { readonly bytes: number })[] = [];
  #events = 0;
  #bytes = 0;
  #from: Seq;
  #to: Seq;

  constructor(at: Seq, limits: RingLimits) {
    this.#from = at;
    this.#to = at;
    this.#limits = limits;
  }

  /** The place before the oldest event that is still here. */
  get from(): Seq {
    return this.#from;
  }

  get to(): Seq {
    return this.#to;
  }

  /** Takes the part of a stretch that is new. `false` when there is a hole before it, or nothing new. */
  append({ after, upTo, events }: EventSpan): boolean {
    if (after > this.#to || upTo <= this.#to) return false;
    const fresh = after === this.#to ? events : events.filter((event) => event.seq > this.#to);
    const bytes = fresh.reduce((sum, event) => sum + roughBytes(event), 0);
    this.#stretches.push({ after: this.#to, upTo, events: fresh, bytes });
    this.#to = upTo;
    this.#events += fresh.length;
    this.#bytes += bytes;
    this.#trim();
    return true;
  }

  /** Everything after the cursor, or nothing when the ring does not reach back to it. */
  after(cursor: Seq): EventSpan | undefined {
    if (cursor < this.#from || cursor >= this.#to) return undefined;
    const needed = this.#stretches.slice(this.#placeOf(cursor));
    const [only] = needed;
    // The common case: every reader gets the very same list.
    if (needed.length === 1 && only?.after === cursor) return only;
    const events = needed.flatMap((stretch) => stretch.events).filter(({ seq }) => seq > cursor);
    return { after: cursor, upTo: this.#to, events };
  }

  /** The stretch with the event after the cursor. Readers stand at the end nearly always, so the search begins there. */
  #placeOf(cursor: Seq): number {
    let place = this.#stretches.length - 1;
    while (place > 0 && (this.#stretches[place]?.after ?? 0) > cursor) place -= 1;
    return place;
  }

  #trim(): void {
    const { events, bytes } = this.#limits;
    while (this.#stretches.length > 1 && (this.#events > events || this.#bytes > bytes)) {
      const oldest = this.#stretches.shift();
      if (oldest === undefined) return;
      this.#events -= oldest.events.length;
      this.#bytes -= oldest.bytes;
      this.#from = oldest.upTo;
    }
  }
}

function roughBytes(event: StoredEvent): number {
  const measured = measureJson(event.data);
  return 200 + (measured.status === "plain" ? measured.atMost / 3 : 0);
}
