import {
  type EventData,
  type IdSource,
  ids as defaultIds,
  type LaneKey,
  newEvent,
  type OwnerId,
  ownerId,
  type Seq,
  seq,
  type SessionId,
  sessionId,
  type SessionSettings,
  type StoredEvent,
  backoffMs,
} from "@holdfast/protocol";

import { type Clock, type Random, systemClock } from "../ports/clock.ts";
import {
  type Commit,
  type CommitResult,
  type Committed,
  type Failed,
  type FailureCode,
} from "../ports/commit.ts";
import { type Store, StoreFailure } from "../ports/store.ts";
import { FeedRegistry, Tail, type TailItem, type TailOptions } from "./tail.ts";
import type { FeedDeps } from "./feed.ts";
import { AcknowledgedEvents, type LostEvents } from "./acknowledged.ts";
import { checkCommit, type CommitLimits, commitLimits } from "./check-commit.ts";

export interface LogOptions extends Partial<Omit<FeedDeps, "clock" | "random" | "onRead">> {
  readonly clock?: Clock;
  readonly random?: Random;
  readonly ids?: IdSource;
  readonly limits?: CommitLimits;
  /** How long a commit is retried when the store is busy or its answer was lost. */
  readonly retryForMs?: number;
  /** Called for every commit with how long the store took. It must not throw. */
  readonly observe?: (commit: Commit, result: CommitResult, ms: number) => void;
  /**
   * Called when the database has lost events that this process had acknowledged or shown, for example because it failed
   * over to a replica that had not received them. Without it nobody looks for that.
   */
  readonly onLost?: (lost: readonly LostEvents[]) => void;
}

export interface CommitOptions {
  readonly retryForMs?: number;
  /** Stops the retries. A commit already under way is not undone. */
  readonly signal?: AbortSignal;
}

export interface NewSession {
  readonly owner: OwnerId;
  readonly settings?: SessionSettings;
  readonly lane?: LaneKey;
  /** For a command that may be repeated: the same ids name the same session. */
  readonly ids?: IdSource;
}

/** The engine's access to the store: every write passes through here, and tails are notified. */
export interface Log {
  readonly store: Store;
  /** How many sessions somebody in this process follows. */
  readonly watchedSessions: number;
  /**
   * Like `Store.commit`, but refuses malformed and oversized commits first, and retries `store_busy` and
   * `store_unknown`.
   */
  commit(commit: Commit, options?: CommitOptions): Promise<CommitResult>;
  /** Follows a session from the event after `after`. */
  tail(
    owner: OwnerId,
    session: SessionId,
    after: Seq,
    options?: TailOptions,
  ): AsyncIterable<TailItem>;
  createSession(session: NewSession): Promise<{ session: SessionId; result: CommitResult }>;
  /** Refused as `revision_conflict` unless this is the session's current revision; `null` skips the check. */
  changeSession(
    owner: OwnerId,
    session: SessionId,
    settings: SessionSettings,
    revision: number | null,
  ): Promise<CommitResult>;
  trashSession(owner: OwnerId, session: SessionId): Promise<CommitResult>;
  restoreSession(owner: OwnerId, session: SessionId): Promise<CommitResult>;
}

const retryableCodes: ReadonlySet<FailureCode> = new Set(["store_busy", "store_unknown"]);
const commitBackoff = { firstMs: 5, longestMs: 500 };
const feedDefaults = {
  ring: { events: 2_000, bytes: 4 * 1024 * 1024 },
  pageSize: 500,
  maxBehind: 5_000,
  leadMs: 250,
  backoff: { firstMs: 50, longestMs: 5_000 },
};

export function createLog(store: Store, options: LogOptions = {}): Log {
  const { clock = systemClock, random = Math.random, ids = defaultIds } = options;
  const { limits = commitLimits, retryForMs = 10_000 } = options;
  const { onLost } = options;
  const acknowledged = new AcknowledgedEvents();
  const note = (owner: OwnerId, session: SessionId, event: StoredEvent): void => {
    acknowledged.note(owner, session, event);
  };
  const feedOptions = { ...feedDefaults, ...options, clock, random };
  const feeds = new FeedRegistry(
    store,
    onLost === undefined ? feedOptions : { ...feedOptions, onRead: note },
  );

  /** The sessions to compare next; nothing: all of them. */
  const suspects = new Set<SessionId | undefined>();
  let looking: Promise<void> | undefined;
  function lookForLosses(session?: SessionId): void {
    if (onLost === undefined) return;
    suspects.add(session);
    looking ??= findLosses(onLost).finally(() => (looking = undefined));
  }

  async function findLosses(report: NonNullable<typeof onLost>): Promise<void> {
    for (const session of suspects) {
      suspects.delete(session);
      try {
        const lost = await acknowledged.findLost(store, session);
        for (const { owner, session: id } of lost) feeds.rewind(owner, id);
        if (lost.length > 0) report(lost);
      } catch (error) {
        // The database is away again; the next connection asks again.
        if (!(error instanceof StoreFailure)) throw error;
      }
    }
  }

  // Signals may have been lost: the connection is new, and so may be the database behind it.
  if (onLost !== undefined) store.watchWork?.((item) => item === null && lookForLosses());

  async function send(commit: Commit, callOptions: CommitOptions = {}): Promise<CommitResult> {
    const refused = checkCommit(commit, limits);
    if (refused !== undefined) return refused;
    const { owner, session } = commit;
    const startedAt = clock.now();
    const result = await commitWithRetries(commit, callOptions);
    options.observe?.(commit, result, clock.now() - startedAt);
    if (result.status === "committed" && result.repeated === undefined) {
      const span = spanOfCommit(commit, result);
      const newest = span.events.at(-1);
      if (newest !== undefined && !acknowledged.note(owner, session, newest))
        lookForLosses(session);
      feeds.publish(owner, session, span);
    } else if (result.status !== "refused") {
      // It is stored already, or may be: only the store knows, so make readers ask it.
      feeds.wake(owner, session);
    }
    return result;
  }

  async function commitWithRetries(
    commit: Commit,
    callOptions: CommitOptions,
  ): Promise<CommitResult> {
    const deadline = clock.now() + (callOptions.retryForMs ?? retryForMs);
    let unknown: Failed | undefined;
    for (let tries = 0; ; tries += 1) {
      const result = await store.commit(commit);
      if (result.status !== "failed") return result;
      if (result.code === "store_unknown") unknown = result;
      const wait = backoffMs(commitBackoff, tries, random);
      const isTimeUp = callOptions.signal?.aborted === true || clock.now() + wait > deadline;
      // Once an answer was lost, a later "nothing was written" is only about the later try.
      if (isTimeUp || result.triedAgain || !retryableCodes.has(result.code))
        return unknown ?? result;
      await clock.sleep(wait, callOptions.signal);
    }
  }

  function commitOne<T extends "session.changed" | "session.trashed" | "session.restored">(
    target: Pick<Commit, "owner" | "session" | "expect">,
    type: T,
    data: EventData<T>,
  ): Promise<CommitResult> {
    return send({ ...target, events: [newEvent(ids.make("event"), type, data)] });
  }

  return {
    store,
    get watchedSessions() {
      return feeds.watchedSessions;
    },
    commit: send,
    tail: (owner, session, after, callOptions = {}) => ({
      [Symbol.asyncIterator]: () => openTail(feeds, owner, session, after, callOptions),
    }),
    async createSession({ owner, settings = {}, lane, ids: own = ids }) {
      const session = own.make("session");
      const events = [newEvent(own.make("event"), "session.created", settings)];
      if (lane !== undefined) events.push(newEvent(own.make("event"), "lane.bound", { lane }));
      return { session, result: await send({ owner, session, events }) };
    },
    changeSession(owner, session, settings, revision) {
      const expect = revision === null ? {} : { revision };
      return commitOne({ owner, session, expect }, "session.changed", settings);
    },
    trashSession: (owner, session) => commitOne({ owner, session }, "session.trashed", {}),
    restoreSession: (owner, session) => commitOne({ owner, session }, "session.restored", {}),
  };
}

function openTail(
  feeds: FeedRegistry,
  owner: OwnerId,
  session: SessionId,
  after: Seq,
  options: TailOptions,
): AsyncIterator<TailItem, undefined> {
  if (!ownerId.safeParse(owner).success || !sessionId.safeParse(session).success) {
    return noSuchSession();
  }
  // An invalid cursor is treated like one beyond the head: its reader starts anew.
  const cursor = seq.safeParse(after).success ? after : (Number.MAX_SAFE_INTEGER as Seq);
  return new Tail(feeds, owner, session, cursor, options);
}

async function* noSuchSession(): AsyncGenerator<TailItem, undefined> {
  yield { kind: "gone" };
}

/** The events as just stored. */
function spanOfCommit(
  { events, touch }: Commit,
  { first, last, at }: Committed,
): {
  after: Seq;
  upTo: Seq;
  events: readonly StoredEvent[];
} {
  const stored = events.map((event, index) => ({
    ...event,
    seq: (first + index) as Seq,
    at,
    ...(touch === "quiet" && { quiet: true as const }),
  }));
  return { after: (first - 1) as Seq, upTo: last, events: stored };
}
