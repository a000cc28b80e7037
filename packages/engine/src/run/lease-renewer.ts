import type { Clock } from "../ports/clock.ts";
import type { Holder, LeaseRow } from "../ports/rows.ts";
import type { Leases } from "../ports/lease.ts";
import type { LossReason, RunHandle } from "./run-handle.ts";

/** A session's lease in our hands, from run to run. */
export class HeldLease {
  lease: LeaseRow;
  /** The run that is driven under it at the moment. */
  run: RunHandle | null = null;
  /** By our own clock. */
  until: number;
  #lost = false;
  #commits: number | undefined;

  constructor(lease: LeaseRow, until: number) {
    this.lease = lease;
    this.until = until;
  }

  get lost(): boolean {
    return this.#lost;
  }

  /** Whether its run has written nothing since this was asked last. */
  hasWrittenNothing(): boolean {
    const before = this.#commits;
    this.#commits = this.run?.commits;
    return before === undefined || before === this.#commits;
  }

  lose(reason: LossReason): void {
    this.#lost = true;
    this.run?.lose(reason);
  }
}

/**
 * Keeps the leases of a process: one write renews them all. A lease that was taken, or that could not be renewed in
 * time by our own clock, is given up before anybody else can have it. Nothing held, nothing written.
 */
export class LeaseRenewer {
  readonly #leases: Leases;
  readonly #clock: Clock;
  readonly #leaseMs: number;
  readonly #held = new Set<HeldLease>();
  #stop: AbortController | undefined;

  constructor(leases: Leases, clock: Clock, leaseMs: number) {
    this.#leases = leases;
    this.#clock = clock;
    this.#leaseMs = leaseMs;
  }

  get held(): Iterable<HeldLease> {
    return this.#held;
  }

  /** `askedAt`: our clock just before the lease was asked for, so that we never believe to have it longer than it lasts. */
  hold(lease: LeaseRow, askedAt: number): HeldLease {
    const held = new HeldLease(lease, askedAt + this.#leaseMs);
    this.#held.add(held);
    if (this.#stop === undefined) {
      this.#stop = new AbortController();
      void this.#beat(this.#stop.signal);
    }
    return held;
  }

  async release(held: HeldLease): Promise<void> {
    this.#held.delete(held);
    if (this.#held.size === 0) {
      this.#stop?.abort();
      this.#stop = undefined;
    }
    await this.#leases.release(held.lease);
  }

  /**
   * Takes the lease again under a higher fence: whatever is left alone and still goes on under the old one can write
   * nothing any more. A new holder, since the old one would get its old fence.
   */
  async raiseFence(held: HeldLease, holder: Holder): Promise<void> {
    const { kind, session, fence: replacing } = held.lease;
    const askedAt = this.#clock.now();
    const request = { kind, session, holder, ttlMs: this.#leaseMs, replacing };
    const result = await this.#leases.acquire(request);
    if (result.status !== "acquired") {
      held.lose(result.status === "failed" ? "store" : "fenced");
      return;
    }
    held.lease = result.lease;
    held.until = askedAt + this.#leaseMs;
    held.run?.adoptLease(result.lease);
  }

  async #beat(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#clock.sleep(this.#leaseMs / 3, signal);
      if (signal.aborted) return;
      this.#giveUpWhatEnds();
      await this.#renew();
      this.#giveUpWhatEnds();
    }
  }

  async #renew(): Promise<void> {
    const asked = [...this.#held];
    const askedAt = this.#clock.now();
    const refs = asked.map(({ lease: { kind, session, fence } }) => ({ kind, session, fence }));
    const answered = new AbortController();
    // A store that does not answer must not keep us from noticing that our time is over.
    const result = await Promise.race([
      this.#leases.renew(refs, this.#leaseMs).catch(() => null),
      this.#clock.sleep(this.#leaseMs / 6, answered.signal).then(() => null),
    ]);
    answered.abort();
    if (result?.status === "renewed") {
      const lost = new Map(result.lost.map(({ session, fence }) => [session, fence]));
      for (const held of asked) {
        const { session, fence } = held.lease;
        // One whose fence was raised meanwhile is not the one that was asked for.
        if (lost.get(session) === fence) held.lose("fenced");
        else if (!lost.has(session)) held.until = askedAt + this.#leaseMs;
      }
    }
  }

  /** Who cannot renew stops by the monotonic clock, with a beat to spare before the lease runs out. */
  #giveUpWhatEnds(): void {
    const soon = this.#clock.now() + this.#leaseMs / 3;
    for (const held of this.#held) if (held.until <= soon) held.lose("store");
  }
}
