import type { SessionId } from "@holdfast/protocol";
import type { Clock } from "../ports/clock.ts";
import type { Liveness } from "../ports/lease.ts";
import type { LeaseRow } from "../ports/rows.ts";
import type { LiveWork } from "../ports/work.ts";

interface AbandonedLeasesDeps {
  readonly clock: Clock;
  readonly liveness: Liveness;
  readonly leaseMs: number;
}

/** Tells the leases that their holders have abandoned. */
export class AbandonedLeases {
  readonly #deps: AbandonedLeasesDeps;
  /** When we first saw an expired lease with that expiry, by our own clock. */
  readonly #expired = new Map<SessionId, { readonly expiresAt: number; readonly seenAt: number }>();

  constructor(deps: AbandonedLeasesDeps) {
    this.#deps = deps;
  }

  /**
   * A lease counts as abandoned when its holder is proven dead, or when it has expired and has not been renewed for
   * half its time by our own clock either: a wall clock that jumps must not take work from a living runner.
   */
  has({ session, lease }: LiveWork): boolean {
    if (lease === null || this.ifHolderDead(lease) !== undefined) return true;
    const firstSeen = this.#expired.get(session);
    const now = this.#deps.clock.now();
    if (firstSeen?.expiresAt !== lease.expiresAt) {
      this.#expired.set(session, { expiresAt: lease.expiresAt, seenAt: now });
      return false;
    }
    return now - firstSeen.seenAt >= this.#deps.leaseMs / 2;
  }

  ifHolderDead(lease: LeaseRow | null): LeaseRow | undefined {
    if (lease === null) return undefined;
    return this.#deps.liveness.isDead(lease.holder) === "dead" ? lease : undefined;
  }

  forget(session: SessionId): void {
    this.#expired.delete(session);
  }

  /** Drops leases that were taken over or released elsewhere. */
  keepOnly(live: readonly LiveWork[]): void {
    if (this.#expired.size === 0) return;
    const liveSessions = new Set(live.map(({ session }) => session));
    for (const session of this.#expired.keys())
      if (!liveSessions.has(session)) this.#expired.delete(session);
  }
}
