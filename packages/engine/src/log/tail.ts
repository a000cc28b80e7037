import type { OwnerId, Seq, SessionId, StoredEvent } from "@holdfast/protocol";
import type { EventPage } from "../ports/reads.ts";
import type { FailureCode } from "../ports/commit.ts";
import { Feed, type Follower, type ReadOutcome, type EventSpan, type FeedDeps } from "./feed.ts";
import type { Store } from "../ports/store.ts";

export type TailItem =
  /** The events after the last ones, in order. A number that is missing belongs to a delta that a settled entry names. */
  | { readonly kind: "events"; readonly events: readonly StoredEvent[]; readonly head: Seq }
  /** The cursor is beyond the head or far behind it: read the session anew. The tail goes on from `head`. */
  | { readonly kind: "resync"; readonly head: Seq }
  /** Whether the store can be read. The cursor is kept, and reading is tried again. */
  | { readonly kind: "status"; readonly reading: "failing"; readonly code: FailureCode }
  | { readonly kind: "status"; readonly reading: "restored" }
  /** The reader was too slow and the tail ends here: go on with a new one after this number. */
  | { readonly kind: "cut"; readonly after: Seq }
  /** There is no such session, or not any more. The tail ends here. */
  | { readonly kind: "gone" };

export interface TailOptions {
  readonly signal?: AbortSignal;
}

type TailResult = IteratorResult<TailItem, undefined>;
const tailEnded: TailResult = { done: true, value: undefined };

/**
 * P5: follows one session from a cursor: the exact suffix, in order, once, and nothing that is not durable. It holds
 * no events of its own: it takes them from the feed's ring, or reads pages until it has reached the ring.
 */
export class Tail implements AsyncIterator<TailItem, undefined>, Follower {
  readonly #hub: FeedRegistry;
  readonly #owner: OwnerId;
  readonly #session: SessionId;
  readonly #signal: AbortSignal | undefined;
  #cursor: Seq;
  #feed: Feed | null = null;
  /** The feed's turn at which the cursor was set: only a read that began later can prove it to be beyond the head. */
  #since = 0;
  #state: "new" | "open" | "overtaken" | "ended" = "new";
  #isFailing = false;
  /** Already counted in the cursor, to be handed out next. */
  #held: TailItem | undefined;
  #queue: Promise<unknown> = Promise.resolve();
  #answer: ((result: TailResult) => void) | null = null;
  #unpark: (() => void) | null = null;

  constructor(
    hub: FeedRegistry,
    owner: OwnerId,
    session: SessionId,
    after: Seq,
    { signal }: TailOptions,
  ) {
    this.#hub = hub;
    this.#owner = owner;
    this.#session = session;
    this.#cursor = after;
    this.#signal = signal;
  }

  get cursor(): Seq {
    return this.#cursor;
  }

  next(): Promise<TailResult> {
    const result = this.#queue.then(() => this.#nextResult());
    this.#queue = result.catch(() => undefined);
    return result;
  }

  return(): Promise<TailResult> {
    this.#end();
    return Promise.resolve(tailEnded);
  }

  onChange(): void {
    this.#unpark?.();
  }

  onOvertaken(): void {
    if (this.#state !== "open") return;
    this.#release();
    this.#state = "overtaken";
    this.#unpark?.();
  }

  /** Answered by the next item or by the end, whichever is first: a read that hangs does not hold up an abort. */
  #nextResult(): Promise<TailResult> {
    if (this.#state === "new") this.#open();
    return new Promise((resolve, reject) => {
      this.#answer = resolve;
      this.#nextItem()
        .then((item) => resolve(item === undefined ? tailEnded : { done: false, value: item }))
        .catch((error: unknown) => {
          this.#end();
          reject(error instanceof Error ? error : new Error(String(error)));
        });
    });
  }

  async #nextItem(): Promise<TailItem | undefined> {
    for (;;) {
      const held = this.#held;
      this.#held = undefined;
      if (held !== undefined) return held;
      if (this.#state === "overtaken") return this.#cut();
      const feed = this.#feed;
      if (this.#state !== "open" || feed === null) return undefined;
      const item = this.#move(feed.take(this.#cursor)) ?? (await this.#waitOrRead(feed));
      if (item !== undefined) return item;
    }
  }

  async #waitOrRead(feed: Feed): Promise<TailItem | undefined> {
    const place = feed.nextReadCursor(this.#cursor);
    if (place === undefined) return this.#park(feed);
    const outcome = await feed.read(place);
    return this.#state === "open" ? this.#judge(outcome, feed) : undefined;
  }

  /** Waits for a change, and takes what it brought before anything else can happen. */
  #park(feed: Feed): Promise<TailItem | undefined> {
    return new Promise((resolve) => {
      this.#unpark = () => {
        this.#unpark = null;
        resolve(this.#state === "open" ? this.#move(feed.take(this.#cursor)) : undefined);
      };
    });
  }

  #judge(outcome: ReadOutcome, feed: Feed): TailItem | undefined {
    if (outcome.status === "gone") {
      this.#finish();
      return { kind: "gone" };
    }
    if (outcome.status === "failed") {
      if (this.#isFailing) return undefined;
      this.#isFailing = true;
      return { kind: "status", reading: "failing", code: outcome.failure.code };
    }
    const item = this.#judgePage(outcome.page, outcome.turn, feed);
    if (!this.#isFailing) return item;
    this.#isFailing = false;
    this.#held = item;
    return { kind: "status", reading: "restored" };
  }

  #judgePage(page: EventPage, turn: number, feed: Feed): TailItem | undefined {
    const isBeyond = page.head < this.#cursor && turn > this.#since;
    if (isBeyond || page.head - this.#cursor > feed.maxBehind) return this.#resync(page.head);
    const upTo = page.more ? (page.events.at(-1)?.seq ?? this.#cursor) : page.head;
    return this.#move({ after: this.#cursor, upTo, events: page.events }, page.head);
  }

  /** The one place where the cursor goes forward: it only does so over what is handed out. */
  #move(stretch: EventSpan | undefined, head = stretch?.upTo): TailItem | undefined {
    if (stretch === undefined || head === undefined || stretch.upTo <= this.#cursor)
      return undefined;
    const isWhole = stretch.after === this.#cursor && (stretch.events[0]?.seq ?? 0) > this.#cursor;
    const cursor = this.#cursor;
    const events = isWhole ? stretch.events : stretch.events.filter(({ seq }) => seq > cursor);
    this.#setCursor(stretch.upTo);
    return events.length === 0 ? undefined : { kind: "events", events, head };
  }

  #resync(head: Seq): TailItem {
    this.#setCursor(head);
    return { kind: "resync", head };
  }

  #setCursor(cursor: Seq): void {
    this.#cursor = cursor;
    this.#since = this.#feed?.readCount ?? 0;
  }

  #cut(): TailItem {
    this.#finish();
    return { kind: "cut", after: this.#cursor };
  }

  #open(): void {
    if (this.#signal?.aborted) return this.#end();
    this.#state = "open";
    this.#signal?.addEventListener("abort", this.#end);
    this.#feed = this.#hub.join(this.#owner, this.#session, this);
    this.#since = this.#feed.readCount;
  }

  readonly #end = (): void => {
    this.#finish();
    this.#answer?.(tailEnded);
  };

  #finish(): void {
    this.#release();
    this.#state = "ended";
    this.#unpark?.();
  }

  #release(): void {
    this.#signal?.removeEventListener("abort", this.#end);
    if (this.#feed === null) return;
    this.#feed = null;
    this.#hub.leave(this.#owner, this.#session, this);
  }
}

/** The sessions that someone in this process looks at, each with its feed. Nothing is kept for the others. */
export class FeedRegistry {
  readonly #store: Store;
  readonly #options: FeedDeps;
  readonly #feeds = new Map<string, Feed>();

  constructor(store: Store, options: FeedDeps) {
    this.#store = store;
    this.#options = options;
  }

  get watchedSessions(): number {
    return this.#feeds.size;
  }

  join(owner: OwnerId, session: SessionId, follower: Follower): Feed {
    const key = feedKey(owner, session);
    const feed = this.#feeds.get(key) ?? new Feed(this.#store, owner, session, this.#options);
    this.#feeds.set(key, feed);
    feed.follow(follower);
    return feed;
  }

  leave(owner: OwnerId, session: SessionId, follower: Follower): void {
    const key = feedKey(owner, session);
    const feed = this.#feeds.get(key);
    if (feed === undefined) return;
    feed.unfollow(follower);
    if (feed.isFollowed) return;
    this.#feeds.delete(key);
    feed.close();
  }

  publish(owner: OwnerId, session: SessionId, stretch: EventSpan): void {
    this.#feeds.get(feedKey(owner, session))?.publish(stretch);
  }

  wake(owner: OwnerId, session: SessionId): void {
    this.#feeds.get(feedKey(owner, session))?.wake();
  }
}

/** The owner is part of it: whoever names another's session reads for himself, and finds nothing. */
function feedKey(owner: OwnerId, session: SessionId): string {
  return `${owner} ${session}`;
}
