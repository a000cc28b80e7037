import {
  type NoticeId,
  type OwnerId,
  type Seq,
  type SessionId,
  withTimeout,
} from "@holdfast/protocol";
import type { MemoryHandle, MemoryProviders, MemoryOwner } from "../ports/memory.ts";
import {
  type SegmentCommitDeps,
  commitSegment,
  type FindHandle,
  readSegment,
  type SegmentOutcome,
  type SessionTarget,
  unreachable,
} from "./commit-segment.ts";
import { ownerKey } from "./recall.ts";
import type { Segment } from "./segment.ts";

export interface MemoryCommitterDeps extends SegmentCommitDeps {
  readonly providers: MemoryProviders;
  /** A session without a completed turn for this long counts as ended, for now. */
  readonly idleMs: number;
  /** How often the store is scanned for due work. */
  readonly sweepMs: number;
  readonly onError: (error: unknown) => void;
}

/** What ends a stretch of conversation, so that it is committed now. */
export type Boundary =
  | "new_session"
  | "lane_switch"
  | "eviction"
  | "compaction"
  | "clear"
  | "idle"
  | "shutdown"
  | "boot";

/** An empty id means "no session": nothing is done, and queries answer no. */
type MaybeSession = SessionId | "";

interface CommitRequest {
  readonly handle?: MemoryHandle | undefined;
  /** `due`: after a failure, not before its retry time. */
  readonly when: "now" | "due";
  /** Whether a handle may be opened if none is registered. */
  readonly reach: "known" | "open";
}

const pageSize = 1_000;
const maxConcurrent = 4;
/** Another process that finds the provider missing holds the lease for a moment only. */
const maxHeldTries = 10;
const heldPauseMs = 200;

/**
 * Makes sure that completed turns reach their memory provider. A turn is only marked; boundaries commit, one at a time
 * per session and outside of every lock. Open work is in the store: a process that dies forgets nothing.
 */
export class MemoryCommitter {
  readonly #deps: MemoryCommitterDeps;
  readonly #handles = new MemoryHandles();
  readonly #turns = new Map<SessionId, Promise<void>>();
  readonly #boundaries = new Map<SessionId, Promise<void>>();
  readonly #counts: Partial<Record<Boundary, number>> = {};
  readonly #stop = new AbortController();
  #loop: Promise<void> = Promise.resolve();

  constructor(deps: MemoryCommitterDeps) {
    this.#deps = deps;
  }

  register(owner: OwnerId, session: MaybeSession, handle: MemoryHandle): void {
    if (session !== "") this.#handles.register(owner, session, handle);
  }

  unregister(session: MaybeSession): void {
    if (session !== "") this.#handles.unregister(session);
  }

  /** Commits the oldest segment through its own owner. `false`: there was nothing, no handle, or it failed. */
  async commit(owner: OwnerId, session: MaybeSession, handle?: MemoryHandle): Promise<boolean> {
    if (session === "") return false;
    const request: CommitRequest = { handle, when: "now", reach: "known" };
    return (await this.#commitNext({ owner, session }, request)) === "committed";
  }

  async isDirty(owner: OwnerId, session: MaybeSession): Promise<boolean> {
    return (await this.generation(owner, session)) > 0;
  }

  /** The oldest uncommitted turn; 0 if there is none. */
  async generation(owner: OwnerId, session: MaybeSession): Promise<Seq | 0> {
    if (session === "") return 0;
    const { marks } = await this.#deps.log.store.reads.unremembered(owner, session, 1);
    return marks[0]?.seq ?? 0;
  }

  /**
   * Commits a session's open turns in the background: it never throws, and awaiting it is optional. A call during a
   * commit shares it, since that one checks again.
   */
  boundary(owner: OwnerId, session: MaybeSession, why: Boundary): Promise<void> {
    if (session === "" || this.#stop.signal.aborted) return Promise.resolve();
    this.#counts[why] = (this.#counts[why] ?? 0) + 1;
    const waiting = this.#boundaries.get(session);
    if (waiting !== undefined) return waiting;
    const onStart = () => void this.#boundaries.delete(session);
    const work = this.#flush({ owner, session }, { when: "due", reach: "open" }, onStart)
      .then(() => undefined)
      .catch(this.#deps.onError);
    this.#boundaries.set(session, work);
    return work;
  }

  /**
   * A person does not want to wait for a provider that is gone: its turns in this session are given up, and newer ones
   * committed. With a notice, only if that tells about them. Returns how many segments were given up.
   */
  async stopWaiting(owner: OwnerId, session: SessionId, noticeId?: NoticeId): Promise<number> {
    const target = { owner, session };
    let gone: string | undefined;
    const find: FindHandle = async (segment, failures) => {
      const key = ownerKey(segment.owner);
      const isMeant = noticeId === undefined || failures.noticeId === noticeId;
      if (segment.lastFailure === unreachable.code && isMeant) gone ??= key;
      return gone === key ? "give_up" : undefined;
    };
    let done = 0;
    for (let held = 0; held < maxHeldTries && !this.#stop.signal.aborted;) {
      const { outcome } = await this.#runExclusive(session, () =>
        commitSegment(this.#deps, target, find, this.#stop.signal),
      );
      if (outcome === "committed") done += 1;
      else if (outcome !== "held") break;
      else {
        held += 1;
        await this.#deps.clock.sleep(heldPauseMs, this.#stop.signal);
      }
    }
    if (done > 0)
      void this.#flush(target, { when: "due", reach: "open" }).catch(this.#deps.onError);
    return done;
  }

  /** Before an agent is evicted, its session's turns are committed; afterwards its handle is no longer used. */
  async evict(session: MaybeSession): Promise<void> {
    if (session === "") return;
    const owner = this.#handles.ownerOf(session);
    try {
      if (owner === undefined) return;
      this.#counts.eviction = (this.#counts.eviction ?? 0) + 1;
      await this.#flush({ owner, session }, { when: "due", reach: "known" });
    } finally {
      this.#handles.drop(session);
    }
  }

  /** On shutdown: waits for commits under way and commits what was completed meanwhile, as far as time allows. */
  async drain(budgetMs: number): Promise<void> {
    const { clock, onError } = this.#deps;
    await withTimeout({ clock, ms: budgetMs }, () =>
      this.#commitDue(Infinity, "shutdown").catch(onError),
    );
    this.#stop.abort();
  }

  /**
   * Takes care of what other processes left: everything at first, then idle sessions and failed segments as they become
   * due.
   */
  start(): void {
    this.#loop = this.#sweepPeriodically();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
    await Promise.all(this.#turns.values());
  }

  /** Scans the store once. */
  async sweep(): Promise<void> {
    const now = await this.#deps.log.store.now();
    await this.#commitDue(now - this.#deps.idleMs, "idle");
  }

  figures(): { readonly boundaries: Readonly<Partial<Record<Boundary, number>>>; known: number } {
    return { boundaries: { ...this.#counts }, known: this.#handles.size };
  }

  async #sweepPeriodically(): Promise<void> {
    const { clock, onError, sweepMs } = this.#deps;
    // What a dead process had not committed counts as idle, however recent it is.
    await this.#commitDue(Infinity, "boot").catch(onError);
    while (!this.#stop.signal.aborted) {
      await clock.sleep(sweepMs, this.#stop.signal);
      if (this.#stop.signal.aborted) return;
      await this.sweep().catch(onError);
    }
  }

  /**
   * Several sessions in parallel, page after page while that makes progress. An owner that failed is skipped for the
   * rest of this scan.
   */
  async #commitDue(restingSince: number, why: Boundary): Promise<void> {
    const since = Math.min(restingSince, Number.MAX_SAFE_INTEGER);
    const failedOwners = new Set<string>();
    let page: readonly SessionTarget[];
    let done: number;
    do {
      page = await this.#deps.log.store.work.unremembered(pageSize, since);
      done = await this.#commitAll(page, why, failedOwners);
    } while (page.length === pageSize && done > 0 && !this.#stop.signal.aborted);
  }

  /** Returns the number of segments. */
  async #commitAll(
    page: readonly SessionTarget[],
    why: Boundary,
    failedOwners: Set<string>,
  ): Promise<number> {
    const waiting = [...page];
    let done = 0;
    const workers = Array.from({ length: maxConcurrent }, async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        if (this.#stop.signal.aborted) return;
        this.#counts[why] = (this.#counts[why] ?? 0) + 1;
        done += await this.#flush(next, { when: "due", reach: "open" }, undefined, failedOwners);
      }
    });
    await Promise.all(workers);
    return done;
  }

  /**
   * Segment after segment. `begins` is called when the first one is read: callers before that still share this flush.
   */
  async #flush(
    target: SessionTarget,
    request: CommitRequest,
    onStart: () => void = () => {},
    failedOwners: Set<string> = new Set(),
  ): Promise<number> {
    let done = 0;
    while (!this.#stop.signal.aborted) {
      if ((await this.#commitNext(target, request, onStart, failedOwners)) !== "committed") break;
      done += 1;
    }
    onStart();
    return done;
  }

  #commitNext(
    target: SessionTarget,
    request: CommitRequest,
    onStart: () => void = () => {},
    failedOwners: Set<string> = new Set(),
  ): Promise<SegmentOutcome> {
    return this.#runExclusive(target.session, async () => {
      onStart();
      const { log } = this.#deps;
      const next = await readSegment(log, target);
      if (next === null || failedOwners.has(ownerKey(next.owner))) return "nothing";
      if (request.when === "due" && next.retryAt !== null && next.retryAt > (await log.store.now()))
        return "nothing";
      return this.#commitWith(target, request, failedOwners);
    });
  }

  async #commitWith(
    target: SessionTarget,
    request: CommitRequest,
    failedOwners: Set<string>,
  ): Promise<SegmentOutcome> {
    const opened: MemoryHandle[] = [];
    const find = async (segment: Segment): Promise<MemoryHandle | undefined | "fail"> => {
      const known = this.#knownHandle(target.session, segment, request.handle);
      if (known !== undefined || request.reach === "known") return known;
      const handle = await this.#deps.providers.open(segment.owner);
      if (handle === null) return "fail";
      opened.push(handle);
      return handle;
    };
    try {
      const { owner, session } = target;
      const done = await commitSegment(this.#deps, target, find, this.#stop.signal);
      const { outcome, segment, handle } = done;
      if (segment === null) return outcome;
      if (outcome === "committed") this.#handles.settle(session, segment.owner);
      if (outcome === "failed") failedOwners.add(ownerKey(segment.owner));
      if (outcome === "failed" && handle !== undefined && !opened.includes(handle))
        this.#handles.keep(owner, session, handle);
      return outcome;
    } finally {
      for (const handle of opened) await handle.close().catch(this.#deps.onError);
    }
  }

  /** Only a handle of the segment's own owner, whoever asks. */
  #knownHandle(
    session: SessionId,
    { owner }: Segment,
    passedHandle: MemoryHandle | undefined,
  ): MemoryHandle | undefined {
    if (passedHandle !== undefined && ownerKey(passedHandle.owner) === ownerKey(owner))
      return passedHandle;
    return this.#handles.find(session, owner);
  }

  /** One task at a time per session in this process; a later caller waits and then checks again. */
  async #runExclusive<T>(session: SessionId, work: () => Promise<T>): Promise<T> {
    const previous = this.#turns.get(session);
    const done = Promise.withResolvers<void>();
    this.#turns.set(session, done.promise);
    try {
      await previous;
      return await work();
    } finally {
      if (this.#turns.get(session) === done.promise) this.#turns.delete(session);
      done.resolve();
    }
  }
}

interface SessionHandles {
  readonly owner: OwnerId;
  /** The handle the session currently uses. */
  registered: MemoryHandle | null;
  /** By owner: handles whose turns may still be open. */
  readonly byOwner: Map<string, MemoryHandle>;
}

/** Beyond this the oldest are forgotten: the backlog scan can open another handle. */
const maxSessions = 5_000;

/** The handles this process has to the owners of a session's turns. Nothing durable depends on it. */
class MemoryHandles {
  readonly #sessions = new Map<SessionId, SessionHandles>();

  /** The previously registered handle stays known: its turns are its own to commit. */
  register(owner: OwnerId, session: SessionId, handle: MemoryHandle): void {
    const known = this.#handlesOf(owner, session);
    const { registered } = known;
    if (registered !== null) known.byOwner.set(ownerKey(registered.owner), registered);
    known.registered = handle;
  }

  unregister(session: SessionId): void {
    const known = this.#sessions.get(session);
    if (known === undefined) return;
    known.registered = null;
    if (known.byOwner.size === 0) this.#sessions.delete(session);
  }

  /** After a failure: a retry without a handle finds this one. */
  keep(owner: OwnerId, session: SessionId, handle: MemoryHandle): void {
    this.#handlesOf(owner, session).byOwner.set(ownerKey(handle.owner), handle);
  }

  /** Nothing of this owner is open any more. */
  settle(session: SessionId, owner: MemoryOwner): void {
    const known = this.#sessions.get(session);
    if (known === undefined) return;
    known.byOwner.delete(ownerKey(owner));
    if (known.byOwner.size === 0 && known.registered === null) this.#sessions.delete(session);
  }

  find(session: SessionId, owner: MemoryOwner): MemoryHandle | undefined {
    const known = this.#sessions.get(session);
    if (known === undefined) return undefined;
    const { registered, byOwner } = known;
    if (registered !== null && ownerKey(registered.owner) === ownerKey(owner)) return registered;
    return byOwner.get(ownerKey(owner));
  }

  ownerOf(session: SessionId): OwnerId | undefined {
    return this.#sessions.get(session)?.owner;
  }

  drop(session: SessionId): void {
    this.#sessions.delete(session);
  }

  get size(): number {
    return this.#sessions.size;
  }

  #handlesOf(owner: OwnerId, session: SessionId): SessionHandles {
    const known = this.#sessions.get(session) ?? { owner, registered: null, byOwner: new Map() };
    this.#sessions.delete(session);
    this.#sessions.set(session, known);
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size > maxSessions && oldest !== undefined) this.#sessions.delete(oldest);
    return known;
  }
}
