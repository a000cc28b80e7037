import type { LaneKey, OwnerId, SessionId } from "@holdfast/protocol";
import type { Agent, AgentFactory, AgentRequest } from "../ports/agent.ts";
import type { Clock } from "../ports/clock.ts";
import { type BaselineStatus, CacheEntry } from "./cache-entry.ts";

export interface AgentCacheDeps<Kept> {
  readonly factory: AgentFactory;
  /** The session's stored version; a rejection counts as not known. */
  readonly readVersion: (owner: OwnerId, session: SessionId) => Promise<number | null>;
  readonly clock: Clock;
  readonly limits: CacheLimits;
  /** What has to be done with an agent's sessions before it is closed: their memory is committed. */
  readonly beforeClose: (agent: Agent, sessions: readonly SessionId[]) => Promise<void>;
  readonly memory: () => "enough" | "scarce";
  /** About how much memory takes up what an agent keeps of a session. */
  readonly sizeOf: (kept: Kept) => number;
  /** How long an agent that goes may take for its last work. */
  readonly closeBudgetMs: number;
  readonly onError: (error: unknown) => void;
}

/** An agent in a run's hands, and in nobody else's until it is given back. */
export interface BorrowedAgent<Kept> {
  readonly agent: Agent;
  /** How what the agent knows stands to what is stored: only when it is `behind`, something has to be folded in. */
  readonly status: BaselineStatus;
  /** The version that the agent knew of this session. */
  readonly baseline: number | null;
  /** What it knew of it. The borrower may change it, and says at its release whether it still holds. */
  readonly kept: Kept | undefined;
  readonly signature: string;
  /**
   * Gives it back, at the version that the borrower's own last commit answered. Without one nothing is known of the
   * session any more.
   */
  release(at?: { readonly version: number; readonly kept?: Kept }): void;
}

export interface CacheFigures {
  /** Used as it was. */
  readonly hits: number;
  /** Used, after what others had written was folded in. */
  readonly folds: number;
  readonly builds: number;
  readonly evictions: Readonly<Partial<Record<EvictionReason, number>>>;
  readonly agents: number;
  readonly bytes: number;
}

/**
 * Warm agents by lane. Choosing and marking happen without a pause in between, so nobody sees the cache half changed;
 * whatever takes time (reading versions, building, committing memory, closing) happens outside of that.
 */
export class AgentCache<Kept = never> {
  readonly #deps: AgentCacheDeps<Kept>;
  readonly #entries = new Set<CacheEntry<Kept>>();
  readonly #closing = new Set<Promise<void>>();
  readonly #evictions: Partial<Record<EvictionReason, number>> = {};
  #hits = 0;
  #folds = 0;
  #builds = 0;

  constructor(deps: AgentCacheDeps<Kept>) {
    this.#deps = deps;
  }

  /** An idle agent of the lane with the right signature, whichever session it served; else a new one. */
  async borrow(request: AgentRequest): Promise<BorrowedAgent<Kept>> {
    const signature = await this.#deps.factory.signature(request);
    const found = this.#take(request.lane, signature);
    const entry = found ?? this.#place(request.lane, signature);
    const agent = found?.agent ?? (await this.#build(entry, request));
    const { session } = request;
    const live = await this.#liveVersion(request);
    const standing: BaselineStatus =
      entry.coherence === "unchecked" ? "unknown" : entry.baselines.statusFor(session, live);
    const baseline = entry.baselines.get(session) ?? entry.baselines.get("any");
    entry.session = session;
    if (found !== undefined && standing === "behind") this.#folds += 1;
    else if (found !== undefined) this.#hits += 1;
    let isBorrowed = true;
    return {
      agent,
      status: standing,
      baseline: baseline?.version ?? null,
      kept: baseline?.kept,
      signature,
      release: (at) => {
        if (!isBorrowed) return;
        isBorrowed = false;
        if (at === undefined) entry.baselines.forget(session);
        else this.rebaseline(entry, session, at.version, at.kept);
        entry.isBorrowed = false;
        entry.usedAt = this.#deps.clock.now();
        this.evictIfNeeded();
      },
    };
  }

  /** Moves an entry's baseline for its own session, and nothing else of it. */
  rebaseline(entry: CacheEntry<Kept>, session: SessionId, version: number, kept?: Kept): void {
    if (!entry.isComparable) return;
    if (entry.session !== null && entry.session !== session) return;
    entry.session = session;
    entry.baselines.move(session, version, kept);
  }

  /** Puts an agent that was made elsewhere into the cache. */
  add(entry: CacheEntry<Kept>): void {
    this.#entries.add(entry);
    this.evictIfNeeded();
  }

  entriesOf(lane: LaneKey): readonly CacheEntry<Kept>[] {
    return [...this.#entries].filter((entry) => entry.lane === lane);
  }

  /** Lets go of what is idle for too long or too much. Chooses at once; the rest goes on behind. */
  evictIfNeeded(): void {
    const { limits, clock, memory } = this.#deps;
    this.#retire(chooseEvictions(this.#sizes(), limits, clock.now(), memory()));
  }

  /** Lets go of a lane's idle agents, and waits until they are closed. */
  async evict(lane: LaneKey): Promise<void> {
    const idle = this.entriesOf(lane).filter((entry) => !entry.isBorrowed);
    this.#retire(idle.map((entry) => ({ entry, reason: "asked" })));
    await this.settled();
  }

  /** Lets go of every agent that nobody uses, and waits until they are closed, or their time is over. */
  async close(): Promise<void> {
    const idle = [...this.#entries].filter((entry) => !entry.isBorrowed);
    this.#retire(idle.map((entry) => ({ entry, reason: "asked" })));
    await this.settled();
  }

  /** Resolves when everything that was let go of is closed, or its time is over. */
  async settled(): Promise<void> {
    while (this.#closing.size > 0) await Promise.all(this.#closing);
  }

  figures(): CacheFigures {
    const sizes = this.#sizes();
    return {
      hits: this.#hits,
      folds: this.#folds,
      builds: this.#builds,
      evictions: { ...this.#evictions },
      agents: sizes.size,
      bytes: sizes.values().reduce((sum, size) => sum + size, 0),
    };
  }

  #sizes(): ReadonlyMap<CacheEntry<Kept>, number> {
    const { sizeOf } = this.#deps;
    return new Map(
      [...this.#entries].map((entry) => [
        entry,
        entry.baselines.kept().reduce((sum, kept) => sum + sizeOf(kept), entry.agent?.bytes ?? 0),
      ]),
    );
  }

  #take(lane: LaneKey, signature: string): CacheEntry<Kept> | undefined {
    const idle = this.entriesOf(lane).filter((entry) => !entry.isBorrowed);
    const outdated = idle.filter((entry) => entry.signature !== signature);
    this.#retire(outdated.map((entry) => ({ entry, reason: "configuration" })));
    const found = idle.find((entry) => entry.signature === signature);
    if (found !== undefined) found.isBorrowed = true;
    return found;
  }

  #place(lane: LaneKey, signature: string): CacheEntry<Kept> {
    const { limits, clock } = this.#deps;
    const entry = new CacheEntry<Kept>({
      lane,
      signature,
      agent: null,
      usedAt: clock.now(),
      mostBaselines: limits.baselines,
    });
    entry.isBorrowed = true;
    this.#entries.add(entry);
    return entry;
  }

  async #build(entry: CacheEntry<Kept>, request: AgentRequest): Promise<Agent> {
    try {
      const agent = await this.#deps.factory.build(request, entry.signature);
      this.#builds += 1;
      entry.agent = agent;
      this.evictIfNeeded();
      return agent;
    } catch (error) {
      this.#entries.delete(entry);
      throw error;
    }
  }

  /** Fail safe: a version that cannot be read keeps nobody from working. */
  async #liveVersion({ owner, session, version }: AgentRequest): Promise<number | null> {
    if (version !== undefined) return version;
    try {
      return await this.#deps.readVersion(owner, session);
    } catch {
      return null;
    }
  }

  #retire(victims: readonly Eviction<Kept>[]): void {
    for (const { entry, reason } of victims) {
      this.#entries.delete(entry);
      this.#evictions[reason] = (this.#evictions[reason] ?? 0) + 1;
      const { agent } = entry;
      if (agent === null) continue;
      const closing = this.#close(agent, entry.baselines.sessions()).finally(() =>
        this.#closing.delete(closing),
      );
      this.#closing.add(closing);
    }
  }

  /** First its last work, then its resources: both within their time, so that what hangs holds nobody up. */
  async #close(agent: Agent, sessions: readonly SessionId[]): Promise<void> {
    await this.#within(() => this.#deps.beforeClose(agent, sessions));
    await this.#within(() => agent.close());
  }

  async #within(work: () => Promise<void>): Promise<void> {
    const { clock, closeBudgetMs, onError } = this.#deps;
    const done = new AbortController();
    const worked = (async () => work())().catch(onError);
    await Promise.race([worked, clock.sleep(closeBudgetMs, done.signal)]);
    done.abort();
  }
}

export type EvictionReason = "bytes" | "count" | "idle" | "pressure" | "configuration" | "asked";

export interface CacheLimits {
  readonly bytes: number;
  readonly count: number;
  readonly idleMs: number;
  /** How many sessions an agent remembers the version of. */
  readonly baselines: number;
}

export interface Eviction<Kept> {
  readonly entry: CacheEntry<Kept>;
  readonly reason: EvictionReason;
}

/**
 * Of the entries with their sizes, who has to go, the one that was not used longest first. An agent that is borrowed is never chosen, so the cache may be
 * over its limits as long as that many run.
 */
function chooseEvictions<Kept>(
  entries: ReadonlyMap<CacheEntry<Kept>, number>,
  limits: CacheLimits,
  now: number,
  memory: "enough" | "scarce",
): readonly Eviction<Kept>[] {
  const victims: Eviction<Kept>[] = [];
  let bytes = entries.values().reduce((sum, size) => sum + size, 0);
  let count = entries.size;
  const idle = [...entries.keys()]
    .filter((entry) => !entry.isBorrowed)
    .toSorted((one, other) => one.usedAt - other.usedAt);
  for (const entry of idle) {
    const reason = whyNow(entry);
    if (reason === null) continue;
    victims.push({ entry, reason });
    bytes -= entries.get(entry) ?? 0;
    count -= 1;
  }
  return victims;

  function whyNow(entry: CacheEntry<Kept>): EvictionReason | null {
    if (now - entry.usedAt >= limits.idleMs) return "idle";
    if (memory === "scarce") return "pressure";
    if (count > limits.count) return "count";
    return bytes > limits.bytes ? "bytes" : null;
  }
}
