import type { LaneKey, SessionId } from "@holdfast/protocol";
import type { Agent } from "../ports/agent.ts";

/** One agent in the cache. While it is being built it is a placeholder, and already taken. */
export class CacheEntry<Kept> {
  readonly lane: LaneKey;
  readonly signature: string;
  readonly baselines: Baselines<Kept>;
  /** `unchecked`: whoever put it here answers for it; it is neither compared nor re-baselined. */
  readonly coherence: "checked" | "unchecked";
  agent: Agent | null;
  /** The session that it served last, or serves. */
  session: SessionId | null = null;
  isBorrowed = false;
  usedAt: number;

  constructor(made: {
    readonly lane: LaneKey;
    readonly signature: string;
    readonly agent: Agent | null;
    readonly usedAt: number;
    readonly mostBaselines: number;
    readonly coherence?: "checked" | "unchecked";
  }) {
    this.lane = made.lane;
    this.signature = made.signature;
    this.agent = made.agent;
    this.usedAt = made.usedAt;
    this.coherence = made.coherence ?? "checked";
    this.baselines = new Baselines(made.mostBaselines);
  }

  /** Neither a placeholder nor one that opted out has a baseline that anybody may move. */
  get isComparable(): boolean {
    return this.agent !== null && this.coherence === "checked";
  }
}

/** `any`: a baseline that was taken before it was known which session it is about. */
export type BaselineKey = SessionId | "any";

/**
 * How an entry stands to a session's live version.
 * - `current`: what the agent knows is what is stored.
 * - `new`: it has not served this session yet, or has forgotten that it did: it knows nothing that could be stale.
 * - `behind`: somebody else has changed the session since.
 * - `unknown`: nobody can tell; the agent is used as it is.
 */
export type BaselineStatus = "current" | "new" | "behind" | "unknown";

export interface Baseline<Kept> {
  readonly version: number;
  /** What the agent has of the session at that version, so that it need not be read again. */
  readonly kept?: Kept | undefined;
}

/**
 * The version of each session that an agent served last, by session, so that a change to one of them is noticed
 * however many others came between. Bounded: the one that was not asked for longest is forgotten first.
 */
export class Baselines<Kept> {
  readonly #known = new Map<BaselineKey, Baseline<Kept>>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  /** `live: null`: the stored version could not be read. */
  statusFor(session: SessionId, live: number | null): BaselineStatus {
    if (live === null) return "unknown";
    const known = this.get(session) ?? this.get("any");
    if (known === undefined) return "new";
    return known.version === live ? "current" : "behind";
  }

  /** Touches this session's baseline and no other. One that was taken for any session is this one's from now on. */
  move(session: SessionId, version: number, kept?: Kept): void {
    this.#known.delete("any");
    this.set(session, version, kept);
  }

  set(key: BaselineKey, version: number, kept?: Kept): void {
    this.#known.delete(key);
    this.#known.set(key, { version, kept });
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= this.#most) return;
      this.#known.delete(oldest);
    }
  }

  get(key: BaselineKey): Baseline<Kept> | undefined {
    return this.#known.get(key);
  }

  forget(session: SessionId): void {
    this.#known.delete(session);
  }

  sessions(): readonly SessionId[] {
    return [...this.#known.keys()].filter((key): key is SessionId => key !== "any");
  }

  kept(): readonly Kept[] {
    return [...this.#known.values()].flatMap(({ kept }) => (kept === undefined ? [] : [kept]));
  }
}
