import type { LaneKey, SessionId } from "@holdfast/protocol";
import type { Agent } from "../ports/agent.ts";

/** One agent in the cache. While being built it is a placeholder that is already borrowed. */
export class CacheEntry<Cached> {
  readonly lane: LaneKey;
  readonly signature: string;
  readonly baselines: Baselines<Cached>;
  /** `unchecked`: its creator vouches for it; it is neither compared nor re-baselined. */
  readonly coherence: "checked" | "unchecked";
  agent: Agent | null;
  /** The session it serves, or served last. */
  session: SessionId | null = null;
  isBorrowed = false;
  usedAt: number;

  constructor(init: {
    readonly lane: LaneKey;
    readonly signature: string;
    readonly agent: Agent | null;
    readonly usedAt: number;
    readonly maxBaselines: number;
    readonly coherence?: "checked" | "unchecked";
  }) {
    this.lane = init.lane;
    this.signature = init.signature;
    this.agent = init.agent;
    this.usedAt = init.usedAt;
    this.coherence = init.coherence ?? "checked";
    this.baselines = new Baselines(init.maxBaselines);
  }

  /** Neither a placeholder nor an unchecked entry has a baseline that may be moved. */
  get isComparable(): boolean {
    return this.agent !== null && this.coherence === "checked";
  }
}

/** `any`: a baseline taken before its session was known. */
export type BaselineKey = SessionId | "any";

/**
 * How an entry compares to a session's stored version.
 * - `current`: the agent knows what is stored.
 * - `new`: it has not served this session, or has forgotten it: it knows nothing that could be stale.
 * - `behind`: somebody else has changed the session since.
 * - `unknown`: it cannot be determined; the agent is used as it is.
 */
export type BaselineStatus = "current" | "new" | "behind" | "unknown";

export interface Baseline<Cached> {
  readonly version: number;
  /** What the agent caches of the session at that version, so that it need not be read again. */
  readonly cached?: Cached | undefined;
}

/**
 * The version of each session when an agent last served it, so that a change is noticed however many other sessions
 * came in between. Bounded: the least recently used one is forgotten first.
 */
export class Baselines<Cached> {
  readonly #baselines = new Map<BaselineKey, Baseline<Cached>>();
  readonly #maxSessions: number;

  constructor(maxSessions: number) {
    this.#maxSessions = maxSessions;
  }

  /** `live: null`: the stored version could not be read. */
  statusFor(session: SessionId, live: number | null): BaselineStatus {
    if (live === null) return "unknown";
    const baseline = this.get(session) ?? this.get("any");
    if (baseline === undefined) return "new";
    return baseline.version === live ? "current" : "behind";
  }

  /** Moves only this session's baseline. One taken for any session belongs to this one from now on. */
  move(session: SessionId, version: number, cached?: Cached): void {
    this.#baselines.delete("any");
    this.set(session, version, cached);
  }

  set(key: BaselineKey, version: number, cached?: Cached): void {
    this.#baselines.delete(key);
    this.#baselines.set(key, { version, cached });
    for (const oldest of this.#baselines.keys()) {
      if (this.#baselines.size <= this.#maxSessions) return;
      this.#baselines.delete(oldest);
    }
  }

  get(key: BaselineKey): Baseline<Cached> | undefined {
    return this.#baselines.get(key);
  }

  forget(session: SessionId): void {
    this.#baselines.delete(session);
  }

  sessions(): readonly SessionId[] {
    return [...this.#baselines.keys()].filter((key): key is SessionId => key !== "any");
  }

  cached(): readonly Cached[] {
    return [...this.#baselines.values()].flatMap(({ cached }) =>
      cached === undefined ? [] : [cached],
    );
  }
}
