import type { OwnerId, Seq, SessionId, StoredEvent } from "@holdfast/protocol";
import type { EventPage } from "../ports/reads.ts";
import type { FailureCode } from "../ports/commit.ts";
import { Feed, type Follower, type ReadOutcome, type EventSpan, type FeedDeps } from "./feed.ts";
import type { Store } from "../ports/store.ts";

export type TailItem =
  /** The next events, in order. A missing seq belongs to a delta that a settled entry names. */
  | { readonly kind: "events"; readonly events: readonly StoredEvent[]; readonly head: Seq }
  /** The cursor is beyond the head or far behind it: read the session anew. The tail continues from `head`. */
  | { readonly kind: "resync"; readonly head: Seq }
  /** Whether the store can be read. The cursor is kept and reading is retried. */
  | { readonly kind: "status"; readonly reading: "failing"; readonly code: FailureCode }
  | { readonly kind: "status"; readonly reading: "restored" }
  /** The reader was too slow and the tail ends: open a new one after this seq. */
  | { readonly kind: "cut"; readonly after: Seq }
  /** The session does not exist, or no longer does. The tail ends. */
  | { readonly kind: "gone" };

export interface TailOptions {
  readonly signal?: AbortSignal;
}

type TailResult = IteratorResult<TailItem, undefined>;
const tailEnded: TailResult = { done: true, value: undefined };

/**
 * P5: follows one session from a cursor: the exact suffix, in order, once, and only what is durable. It buffers no
 * events of its own: it takes them from the feed's ring, or reads pages until it has reached the ring.
 */
export class Tail implements AsyncIterator<TailItem, undefined>, Follower {
  readonly #registry: FeedRegistry;
  readonly #owner: OwnerId;
  readonly #session: SessionId;
  readonly #signal: AbortSignal | undefined;
  #cursor: Seq;
  #feed: Feed | null = null;
  /** The feed's turn at which the cursor was set: only a later read can prove that it is beyond the head. */
  #cursorTurn = 0;
  #state: "new" | "open" | "overtaken" | "ended" = "new";
  #isFailing = false;
  /** Whether the session must be read anew, wherever its head is. */
  #isRewound = false;
  /** Already counted in the cursor and handed out next. */
  #pendingItem: TailItem | undefined;
  #queue: Promise<unknown> = Promise.resolve();
  #answer: ((result: TailResult) => void) | null = null;
  #unpark: (() => void) | null = null;

  constructor(
    registry: FeedRegistry,
    owner: OwnerId,
    session: SessionId,
    after: Seq,
    { signal }: TailOptions,
  ) {
    this.#registry = registry;
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

  onRewound(): void {
    if (this.#state !== "open" || this.#feed === null) return;
    this.#isRewound = true;
    // A read that is under way may be of the database before.
    this.#cursorTurn = this.#feed.readCount;
    this.#unpark?.();
  }

  /** Settles with the next item or the end, whichever is first: a hanging read does not delay an abort. */
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
      const pendingItem = this.#pendingItem;
      this.#pendingItem = undefined;
      if (pendingItem !== undefined) return pendingItem;
      if (this.#state === "overtaken") return this.#cut();
      const feed = this.#feed;
      if (this.#state !== "open" || feed === null) return undefined;
      const item = this.#take(feed) ?? (await this.#waitOrRead(feed));
      if (item !== undefined) return item;
    }
  }

  async #waitOrRead(feed: Feed): Promise<TailItem | undefined> {
    const readFrom = this.#isRewound ? this.#cursor : feed.nextReadCursor(this.#cursor);
    if (readFrom === undefined) return this.#park(feed);
    const outcome = await feed.read(readFrom);
    return this.#state === "open" ? this.#handleOutcome(outcome, feed) : undefined;
  }

  /** Waits for a change and takes its events before anything else can happen. */
  #park(feed: Feed): Promise<TailItem | undefined> {
    return new Promise((resolve) => {
      this.#unpark = () => {
        this.#unpark = null;
        resolve(this.#state === "open" ? this.#take(feed) : undefined);
      };
    });
  }

  #take(feed: Feed): TailItem | undefined {
    return this.#isRewound ? undefined : this.#move(feed.take(this.#cursor));
  }

  #handleOutcome(outcome: ReadOutcome, feed: Feed): TailItem | undefined {
    if (outcome.status === "gone") {
      this.#finish();
      return { kind: "gone" };
    }
    if (outcome.status === "failed") {
      if (this.#isFailing) return undefined;
      this.#isFailing = true;
      return { kind: "status", reading: "failing", code: outcome.failure.code };
    }
    const item = this.#handlePage(outcome.page, outcome.turn, feed);
    if (!this.#isFailing) return item;
    this.#isFailing = false;
    this.#pendingItem = item;
    return { kind: "status", reading: "restored" };
  }

  #handlePage(page: EventPage, turn: number, feed: Feed): TailItem | undefined {
    const isNewRead = turn > this.#cursorTurn;
    if (this.#isRewound) {
      if (!isNewRead) return undefined;
      this.#isRewound = false;
      return this.#resync(page.head);
    }
    const isBeyond = page.head < this.#cursor && isNewRead;
    if (isBeyond || page.head - this.#cursor > feed.maxBehind) return this.#resync(page.head);
    const upTo = page.more ? (page.events.at(-1)?.seq ?? this.#cursor) : page.head;
    return this.#move({ after: this.#cursor, upTo, events: page.events }, page.head);
  }

  /** The only place where the cursor advances, and only over events that are handed out. */
  #move(span: EventSpan | undefined, head = span?.upTo): TailItem | undefined {
    if (span === undefined || head === undefined || span.upTo <= this.#cursor) return undefined;
    const isWhole = span.after === this.#cursor && (span.events[0]?.seq ?? 0) > this.#cursor;
    const cursor = this.#cursor;
    const events = isWhole ? span.events : span.events.filter(({ seq }) => seq > cursor);
    this.#setCursor(span.upTo);
    return events.length === 0 ? undefined : { kind: "events", events, head };
  }

  #resync(head: Seq): TailItem {
    this.#setCursor(head);
    return { kind: "resync", head };
  }

  #setCursor(cursor: Seq): void {
    this.#cursor = cursor;
    this.#cursorTurn = this.#feed?.readCount ?? 0;
  }

  #cut(): TailItem {
    this.#finish();
    return { kind: "cut", after: this.#cursor };
  }

  #open(): void {
    if (this.#signal?.aborted) return this.#end();
    this.#state = "open";
    this.#signal?.addEventListener("abort", this.#end);
    this.#feed = this.#registry.join(this.#owner, this.#session, this);
    this.#cursorTurn = this.#feed.readCount;
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
    this.#registry.leave(this.#owner, this.#session, this);
  }
}

/** The feeds of the sessions somebody in this process follows. Other sessions have none. */
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

  publish(owner: OwnerId, session: SessionId, span: EventSpan): void {
    this.#feeds.get(feedKey(owner, session))?.publish(span);
  }

  rewind(owner: OwnerId, session: SessionId): void {
    this.#feeds.get(feedKey(owner, session))?.rewind();
  }

  wake(owner: OwnerId, session: SessionId): void {
    this.#feeds.get(feedKey(owner, session))?.wake();
  }
}

/** Includes the owner: whoever names another owner's session gets a feed of their own, which finds nothing. */
function feedKey(owner: OwnerId, session: SessionId): string {
  return `${owner} ${session}`;
}
