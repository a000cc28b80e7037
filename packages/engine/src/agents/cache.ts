import { type LaneKey, type SessionId, withTimeout } from "@holdfast/protocol";
import type { Agent, AgentFactory, AgentRequest } from "../ports/agent.ts";
import type { Clock } from "../ports/clock.ts";

export interface AgentCacheDeps<Cached> {
  readonly factory: AgentFactory;
  readonly clock: Clock;
  readonly limits: CacheLimits;
  /** Runs before an agent is closed: its sessions' memory is committed. */
  readonly beforeClose: (agent: Agent, sessions: readonly SessionId[]) => Promise<void>;
  readonly memory: () => "enough" | "scarce";
  /** Roughly how many bytes an agent's cached context of a session takes. */
  readonly sizeOf: (cached: Cached) => number;
  /** How long closing an agent may take. */
  readonly closeBudgetMs: number;
  readonly onError: (error: unknown) => void;
}

/** An agent borrowed by one run exclusively until it is released. */
export interface BorrowedAgent<Cached> {
  readonly agent: Agent;
  /** What it cached of the session. The borrower may change it and says on release whether it is still valid. */
  readonly cached: Cached | undefined;
  readonly signature: string;
  /** Returns the agent at the version of the borrower's last commit. Without a version the session is forgotten. */
  release(at?: { readonly version: number; readonly cached?: Cached }): void;
}

export interface CacheFigures {
  /** Reused as they were. */
  readonly hits: number;
  /** Reused after folding in what others had written. */
  readonly folds: number;
  readonly builds: number;
  readonly evictions: Readonly<Partial<Record<EvictionReason, number>>>;
  readonly agents: number;
  readonly bytes: number;
}

/**
 * Warm agents by lane. Choosing and marking an entry happens synchronously, so nobody sees the cache half changed;
 * everything slow (reading versions, building, committing memory, closing) happens outside of that.
 */
export class AgentCache<Cached = never> {
  readonly #deps: AgentCacheDeps<Cached>;
  readonly #entries = new Set<CacheEntry<Cached>>();
  readonly #closing = new Set<Promise<void>>();
  readonly #evictions: Partial<Record<EvictionReason, number>> = {};
  #hits = 0;
  #folds = 0;
  #builds = 0;

  constructor(deps: AgentCacheDeps<Cached>) {
    this.#deps = deps;
  }

  /**
   * An idle agent of the lane with the right signature, whichever session it served; otherwise a new one. It reads
   * nothing: the borrower knows the session's version from its own first write.
   */
  async borrow(request: AgentRequest): Promise<BorrowedAgent<Cached>> {
    const signature = await this.#deps.factory.signature(request);
    const { session, version } = request;
    const found = this.#takeIdle(request, signature);
    const entry = found ?? this.#addPlaceholder(request.lane, signature);
    const agent = found?.agent ?? (await this.#build(entry, request));
    const baseline = entry.baselines.get(session);
    const isBehind =
      baseline !== undefined && version !== undefined && baseline.version !== version;
    if (found !== undefined && isBehind) this.#folds += 1;
    else if (found !== undefined) this.#hits += 1;
    entry.session = session;
    let isBorrowed = true;
    return {
      agent,
      cached: baseline?.cached,
      signature,
      release: (at) => {
        // By now the agent may serve another session, whose baseline is not this borrower's to move.
        if (!isBorrowed) return;
        isBorrowed = false;
        if (at === undefined) entry.baselines.forget(session);
        else entry.baselines.set(session, at.version, at.cached);
        entry.isBorrowed = false;
        entry.usedAt = this.#deps.clock.now();
        this.evictIfNeeded();
      },
    };
  }

  #entriesOf(lane: LaneKey): readonly CacheEntry<Cached>[] {
    return [...this.#entries].filter((entry) => entry.lane === lane);
  }

  /** Evicts agents that are idle too long or too many. Choosing is immediate, closing happens in the background. */
  evictIfNeeded(): void {
    const { limits, clock, memory } = this.#deps;
    this.#retire(chooseEvictions(this.#sizes(), limits, clock.now(), memory()));
  }

  /** Evicts a lane's idle agents and waits until they are closed. */
  async evict(lane: LaneKey): Promise<void> {
    const idle = this.#entriesOf(lane).filter((entry) => !entry.isBorrowed);
    this.#retire(idle.map((entry) => ({ entry, reason: "asked" })));
    await this.settled();
  }

  /** Evicts every agent that is not in use and waits until they are closed or time is up. */
  async close(): Promise<void> {
    const idle = [...this.#entries].filter((entry) => !entry.isBorrowed);
    this.#retire(idle.map((entry) => ({ entry, reason: "asked" })));
    await this.settled();
  }

  /** Resolves when all evicted agents are closed or their time is up. */
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

  #sizes(): ReadonlyMap<CacheEntry<Cached>, number> {
    const { sizeOf } = this.#deps;
    return new Map(
      [...this.#entries].map((entry) => [
        entry,
        entry.baselines
          .cached()
          .reduce((sum, cached) => sum + sizeOf(cached), entry.agent?.bytes ?? 0),
      ]),
    );
  }

  /** Prefers an agent that knows the session. Agents built for it with an outdated signature are evicted. */
  #takeIdle({ lane, session }: AgentRequest, signature: string): CacheEntry<Cached> | undefined {
    const idle = this.#entriesOf(lane).filter((entry) => !entry.isBorrowed);
    const outdated = idle.filter((entry) => entry.signature !== signature && entry.knows(session));
    this.#retire(outdated.map((entry) => ({ entry, reason: "configuration" })));
    const fitting = idle.filter((entry) => entry.signature === signature);
    const found = fitting.find((entry) => entry.knows(session)) ?? fitting[0];
    if (found !== undefined) found.isBorrowed = true;
    return found;
  }

  #addPlaceholder(lane: LaneKey, signature: string): CacheEntry<Cached> {
    const { limits, clock } = this.#deps;
    const entry = new CacheEntry<Cached>({
      lane,
      signature,
      usedAt: clock.now(),
      maxBaselines: limits.baselines,
    });
    this.#entries.add(entry);
    return entry;
  }

  async #build(entry: CacheEntry<Cached>, request: AgentRequest): Promise<Agent> {
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

  #retire(victims: readonly Eviction<Cached>[]): void {
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

  /** Commits memory first, then frees resources, each within a time limit, so that a hang holds nobody up. */
  async #close(agent: Agent, sessions: readonly SessionId[]): Promise<void> {
    await this.#within(() => this.#deps.beforeClose(agent, sessions));
    await this.#within(() => agent.close());
  }

  async #within(work: () => Promise<void>): Promise<void> {
    const { clock, closeBudgetMs, onError } = this.#deps;
    await withTimeout({ clock, ms: closeBudgetMs }, () => (async () => work())().catch(onError));
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

interface Eviction<Cached> {
  readonly entry: CacheEntry<Cached>;
  readonly reason: EvictionReason;
}

/**
 * The entries to evict, least recently used first. A borrowed agent is never chosen, so the cache may exceed its limits
 * while that many run.
 */
function chooseEvictions<Cached>(
  entries: ReadonlyMap<CacheEntry<Cached>, number>,
  limits: CacheLimits,
  now: number,
  memory: "enough" | "scarce",
): readonly Eviction<Cached>[] {
  const victims: Eviction<Cached>[] = [];
  let bytes = entries.values().reduce((sum, size) => sum + size, 0);
  let count = entries.size;
  const idle = [...entries.keys()]
    .filter((entry) => !entry.isBorrowed)
    .toSorted((a, b) => a.usedAt - b.usedAt);
  for (const entry of idle) {
    const reason = evictionReason(entry);
    if (reason === null) continue;
    victims.push({ entry, reason });
    bytes -= entries.get(entry) ?? 0;
    count -= 1;
  }
  return victims;

  function evictionReason(entry: CacheEntry<Cached>): EvictionReason | null {
    if (now - entry.usedAt >= limits.idleMs) return "idle";
    if (memory === "scarce") return "pressure";
    if (count > limits.count) return "count";
    return bytes > limits.bytes ? "bytes" : null;
  }
}

/** One agent in the cache. While being built it is a placeholder that is already borrowed. */
class CacheEntry<Cached> {
  readonly lane: LaneKey;
  readonly signature: string;
  readonly baselines: Baselines<Cached>;
  agent: Agent | null = null;
  /** The session it serves, or served last. */
  session: SessionId | null = null;
  isBorrowed = true;
  usedAt: number;

  constructor(init: {
    readonly lane: LaneKey;
    readonly signature: string;
    readonly usedAt: number;
    readonly maxBaselines: number;
  }) {
    this.lane = init.lane;
    this.signature = init.signature;
    this.usedAt = init.usedAt;
    this.baselines = new Baselines(init.maxBaselines);
  }

  knows(session: SessionId): boolean {
    return this.session === session || this.baselines.get(session) !== undefined;
  }
}

interface Baseline<Cached> {
  readonly version: number;
  /** What the agent caches of the session at that version, so that it need not be read again. */
  readonly cached?: Cached | undefined;
}

/**
 * The version of each session when an agent last served it, so that a change is noticed however many other sessions
 * came in between. Bounded: the least recently used one is forgotten first.
 */
class Baselines<Cached> {
  readonly #baselines = new Map<SessionId, Baseline<Cached>>();
  readonly #maxSessions: number;

  constructor(maxSessions: number) {
    this.#maxSessions = maxSessions;
  }

  get(session: SessionId): Baseline<Cached> | undefined {
    return this.#baselines.get(session);
  }

  /** Moves only this session's baseline. */
  set(session: SessionId, version: number, cached?: Cached): void {
    this.#baselines.delete(session);
    this.#baselines.set(session, { version, cached });
    for (const oldest of this.#baselines.keys()) {
      if (this.#baselines.size <= this.#maxSessions) return;
      this.#baselines.delete(oldest);
    }
  }

  forget(session: SessionId): void {
    this.#baselines.delete(session);
  }

  sessions(): readonly SessionId[] {
    return [...this.#baselines.keys()];
  }

  cached(): readonly Cached[] {
    return [...this.#baselines.values()].flatMap(({ cached }) =>
      cached === undefined ? [] : [cached],
    );
  }
}
