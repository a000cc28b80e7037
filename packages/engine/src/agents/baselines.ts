import type { SessionId } from "@holdfast/protocol";

/** `any`: a baseline that was taken before it was known which session it is about. */
export type BaselineKey = SessionId | "any";

/**
 * How an entry stands to a session's live version.
 * - `current`: what the agent knows is what is stored.
 * - `new`: it has not served this session yet, or has forgotten that it did: it knows nothing that could be stale.
 * - `behind`: somebody else has changed the session since.
 * - `unknown`: nobody can tell; the agent is used as it is.
 */
export type Standing = "current" | "new" | "behind" | "unknown";

/**
 * The version of each session that an agent served last, by session, so that a change to one of them is noticed
 * however many others came between. Bounded: the one that was not asked for longest is forgotten first.
 */
export class Baselines {
  readonly #versions = new Map<BaselineKey, number>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#versions.size;
  }

  /** `live: null`: the stored version could not be read. */
  standing(session: SessionId, live: number | null): Standing {
    if (live === null) return "unknown";
    const known = this.#versions.get(session) ?? this.#versions.get("any");
    if (known === undefined) return "new";
    return known === live ? "current" : "behind";
  }

  /** Touches this session's baseline and no other. One that was taken for any session is this one's from now on. */
  move(session: SessionId, version: number): void {
    this.#versions.delete("any");
    this.set(session, version);
  }

  set(key: BaselineKey, version: number): void {
    this.#versions.delete(key);
    this.#versions.set(key, version);
    for (const oldest of this.#versions.keys()) {
      if (this.#versions.size <= this.#most) return;
      this.#versions.delete(oldest);
    }
  }

  sessions(): readonly SessionId[] {
    return [...this.#versions.keys()].filter((key): key is SessionId => key !== "any");
  }

  get(key: BaselineKey): number | undefined {
    return this.#versions.get(key);
  }
}
