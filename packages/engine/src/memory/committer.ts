import type { OwnerId, Seq, SessionId } from "@holdfast/protocol";
import type { MemoryHandle, MemoryProviders, MemoryOwner } from "../ports/memory.ts";
import {
  type SegmentCommitDeps,
  commitSegment,
  readSegment,
  type SegmentOutcome,
  type SessionTarget,
} from "./commit-segment.ts";
import { ownerKey, type Segment } from "./segment.ts";

export interface MemoryCommitterDeps extends SegmentCommitDeps {
  readonly providers: MemoryProviders;
  /** A session in which nothing was completed for so long has come to its end, for now. */
  readonly idleMs: number;
  /** How often the store is looked through for what is due. */
  readonly sweepMs: number;
  readonly onError: (error: unknown) => void;
}

/** What ends a stretch of a conversation, so that it is committed now. */
export type Boundary =
  | "new_session"
  | "lane_switch"
  | "eviction"
  | "compaction"
  | "clear"
  | "idle"
  | "shutdown"
  | "boot";

/** An empty id stands for "no session": nothing is done, and the questions answer no. */
type MaybeSession = SessionId | "";

interface CommitRequest {
  readonly handle?: MemoryHandle | undefined;
  /** `due`: not before its time, if it has failed. */
  readonly when: "now" | "due";
  /** Whether a handle may be opened when none is at hand. */
  readonly reach: "known" | "open";
}

const pageSize = 1_000;
const maxConcurrent = 4;

/**
 * Sees to it that completed turns reach their memory provider. A turn only marks; boundaries commit, one at a time for a
 * session and outside of every lock. What is to do stands in the store: a process that dies forgets nothing.
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

  /** The oldest segment, with its own owner. `false`: there was nothing, nobody to commit it with, or it failed. */
  async commit(owner: OwnerId, session: MaybeSession, handle?: MemoryHandle): Promise<boolean> {
    if (session === "") return false;
    const asked: CommitRequest = { handle, when: "now", reach: "known" };
    return (await this.#commitNext({ owner, session }, asked)) === "committed";
  }

  async isDirty(owner: OwnerId, session: MaybeSession): Promise<boolean> {
    return (await this.generation(owner, session)) > 0;
  }

  /** The oldest turn that is not committed; 0 when there is none. */
  async generation(owner: OwnerId, session: MaybeSession): Promise<Seq | 0> {
    if (session === "") return 0;
    const { marks } = await this.#deps.log.store.reads.unremembered(owner, session, 1);
    return marks[0]?.seq ?? 0;
  }

  /**
   * Commits what a session has, in the background: it never throws and nobody waits for it, unless they want to. Whoever
   * comes while one is under way shares it, since that one looks again.
   */
  boundary(owner: OwnerId, session: MaybeSession, why: Boundary): Promise<void> {
    if (session === "" || this.#stop.signal.aborted) return Promise.resolve();
    this.#counts[why] = (this.#counts[why] ?? 0) + 1;
    const waiting = this.#boundaries.get(session);
    if (waiting !== undefined) return waiting;
    const begins = () => void this.#boundaries.delete(session);
    const work = this.#flush({ owner, session }, { when: "due", reach: "open" }, begins)
      .then(() => undefined)
      .catch(this.#deps.onError);
    this.#boundaries.set(session, work);
    return work;
  }

  /** An agent goes: its session's work is committed first, and then its handle is not used any more. */
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

  /** At the end: waits for what is under way and commits what was completed meanwhile, as far as the time goes. */
  async drain(budgetMs: number): Promise<void> {
    const { clock, onError } = this.#deps;
    const over = new AbortController();
    const drained = this.#commitDue(Infinity, "shutdown").catch(onError);
    await Promise.race([drained, clock.sleep(budgetMs, over.signal)]);
    over.abort();
    this.#stop.abort();
  }

  /** Looks after what others left: all of it at first, then what rests and what has failed, when its time comes. */
  start(): void {
    this.#loop = this.#lookOnAndOn();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
    await Promise.all(this.#turns.values());
  }

  /** One look through the store. */
  async sweep(): Promise<void> {
    const now = await this.#deps.log.store.now();
    await this.#commitDue(now - this.#deps.idleMs, "idle");
  }

  figures(): { readonly boundaries: Readonly<Partial<Record<Boundary, number>>>; known: number } {
    return { boundaries: { ...this.#counts }, known: this.#handles.size };
  }

  async #lookOnAndOn(): Promise<void> {
    const { clock, onError, sweepMs } = this.#deps;
    // What a process that is gone had not committed rests already, however young it is.
    await this.#commitDue(Infinity, "boot").catch(onError);
    while (!this.#stop.signal.aborted) {
      await clock.sleep(sweepMs, this.#stop.signal);
      if (this.#stop.signal.aborted) return;
      await this.sweep().catch(onError);
    }
  }

  /**
   * Several sessions side by side, page after page while that gets anywhere. An owner that has failed is left alone for
   * the rest of this look.
   */
  async #commitDue(restingSince: number, why: Boundary): Promise<void> {
    const since = Math.min(restingSince, Number.MAX_SAFE_INTEGER);
    const away = new Set<string>();
    let page: readonly SessionTarget[];
    let done: number;
    do {
      page = await this.#deps.log.store.work.unremembered(pageSize, since);
      done = await this.#commitAll(page, why, away);
    } while (page.length === pageSize && done > 0 && !this.#stop.signal.aborted);
  }

  /** How many segments that were. */
  async #commitAll(
    page: readonly SessionTarget[],
    why: Boundary,
    away: Set<string>,
  ): Promise<number> {
    const waiting = [...page];
    let done = 0;
    const workers = Array.from({ length: maxConcurrent }, async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        if (this.#stop.signal.aborted) return;
        this.#counts[why] = (this.#counts[why] ?? 0) + 1;
        done += await this.#flush(next, { when: "due", reach: "open" }, undefined, away);
      }
    });
    await Promise.all(workers);
    return done;
  }

  /** Segment after segment. `begins` is called when the first of them is looked at: who comes later is not too late. */
  async #flush(
    target: SessionTarget,
    asked: CommitRequest,
    begins: () => void = () => {},
    away: Set<string> = new Set(),
  ): Promise<number> {
    let done = 0;
    while (!this.#stop.signal.aborted) {
      if ((await this.#commitNext(target, asked, begins, away)) !== "committed") break;
      done += 1;
    }
    begins();
    return done;
  }

  #commitNext(
    target: SessionTarget,
    asked: CommitRequest,
    begins: () => void = () => {},
    away: Set<string> = new Set(),
  ): Promise<SegmentOutcome> {
    return this.#inTurn(target.session, async () => {
      begins();
      const { log } = this.#deps;
      const next = await readSegment(log, target);
      if (next === null || away.has(ownerKey(next.owner))) return "nothing";
      if (asked.when === "due" && next.retryAt !== null && next.retryAt > (await log.store.now()))
        return "nothing";
      return this.#commitWith(target, asked, away);
    });
  }

  async #commitWith(
    target: SessionTarget,
    asked: CommitRequest,
    away: Set<string>,
  ): Promise<SegmentOutcome> {
    const opened: MemoryHandle[] = [];
    const find = async (segment: Segment): Promise<MemoryHandle | undefined | "fail"> => {
      const known = this.#known(target.session, segment, asked.handle);
      if (known !== undefined || asked.reach === "known") return known;
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
      if (outcome === "failed") away.add(ownerKey(segment.owner));
      if (outcome === "failed" && handle !== undefined && !opened.includes(handle))
        this.#handles.keep(owner, session, handle);
      return outcome;
    } finally {
      for (const handle of opened) await handle.close().catch(this.#deps.onError);
    }
  }

  /** Only a handle of the segment's own owner, whoever asks. */
  #known(
    session: SessionId,
    { owner }: Segment,
    passed: MemoryHandle | undefined,
  ): MemoryHandle | undefined {
    if (passed !== undefined && ownerKey(passed.owner) === ownerKey(owner)) return passed;
    return this.#handles.find(session, owner);
  }

  /** One at a time for a session in this process; who comes later waits, and then looks again. */
  async #inTurn<T>(session: SessionId, work: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(session);
    const done = Promise.withResolvers<void>();
    this.#turns.set(session, done.promise);
    try {
      await before;
      return await work();
    } finally {
      if (this.#turns.get(session) === done.promise) this.#turns.delete(session);
      done.resolve();
    }
  }
}

interface SessionHandles {
  readonly owner: OwnerId;
  /** The one that the session works with. */
  registered: MemoryHandle | null;
  /** By their owners: those whose work may still be open. */
  readonly kept: Map<string, MemoryHandle>;
}

/** More are forgotten, oldest first: whoever looks after the backlog can open another. */
const maxSessions = 5_000;

/** Ways to reach the owners of a session's turns, as far as this process knows some. Nothing durable depends on it. */
class MemoryHandles {
  readonly #sessions = new Map<SessionId, SessionHandles>();

  /** The one that was registered before goes on being known: its turns are its own to commit. */
  register(owner: OwnerId, session: SessionId, handle: MemoryHandle): void {
    const known = this.#known(owner, session);
    const { registered } = known;
    if (registered !== null) known.kept.set(ownerKey(registered.owner), registered);
    known.registered = handle;
  }

  unregister(session: SessionId): void {
    const known = this.#sessions.get(session);
    if (known === undefined) return;
    known.registered = null;
    if (known.kept.size === 0) this.#sessions.delete(session);
  }

  /** After a failure: whoever tries again without a handle finds this one. */
  keep(owner: OwnerId, session: SessionId, handle: MemoryHandle): void {
    this.#known(owner, session).kept.set(ownerKey(handle.owner), handle);
  }

  /** Nothing of this owner is open any more. */
  settle(session: SessionId, owner: MemoryOwner): void {
    const known = this.#sessions.get(session);
    if (known === undefined) return;
    known.kept.delete(ownerKey(owner));
    if (known.kept.size === 0 && known.registered === null) this.#sessions.delete(session);
  }

  find(session: SessionId, owner: MemoryOwner): MemoryHandle | undefined {
    const known = this.#sessions.get(session);
    if (known === undefined) return undefined;
    const { registered, kept } = known;
    if (registered !== null && ownerKey(registered.owner) === ownerKey(owner)) return registered;
    return kept.get(ownerKey(owner));
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

  #known(owner: OwnerId, session: SessionId): SessionHandles {
    const known = this.#sessions.get(session) ?? { owner, registered: null, kept: new Map() };
    this.#sessions.delete(session);
    this.#sessions.set(session, known);
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size > maxSessions && oldest !== undefined) this.#sessions.delete(oldest);
    return known;
  }
}
