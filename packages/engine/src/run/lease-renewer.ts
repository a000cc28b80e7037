import { withTimeout } from "@holdfast/protocol";

import type { Clock } from "../ports/clock.ts";
import type { Holder, LeaseRow } from "../ports/rows.ts";
import type { LeaseRef, Leases, RenewResult } from "../ports/lease.ts";
import type { LossReason, RunHandle } from "./run-handle.ts";

/** A session's lease, held by this process from run to run. */
export class HeldLease {
  lease: LeaseRow;
  /** The run currently driven under it. */
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

  /** Whether its run has written nothing since the last call. */
  hasWrittenNothing(): boolean {
    const previous = this.#commits;
    this.#commits = this.run?.commits;
    return previous === undefined || previous === this.#commits;
  }

  lose(reason: LossReason): void {
    this.#lost = true;
    this.run?.lose(reason);
  }
}

/** Failed renewals are retried quickly, so that a lease outlasts a short outage of the store. */
export function renewalRetryMs(leaseMs: number): number {
  return leaseMs / 60;
}

/** How long a holder waits for an answer before it tries again. */
export function renewalTimeoutMs(leaseMs: number): number {
  return leaseMs / 12;
}

/**
 * Renews all leases of a process in one write. A lease that was taken over, or that could not be renewed in time by our
 * own clock, is given up before anybody else can hold it. With no leases held, nothing is written.
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

  /**
   * `askedAt`: our clock just before the lease was requested, so that we never believe we hold it longer than we do.
   */
  hold(lease: LeaseRow, askedAt: number): HeldLease {
    const held = new HeldLease(lease, askedAt + this.#leaseMs);
    this.#held.add(held);
    if (this.#stop === undefined) {
      this.#stop = new AbortController();
      void this.#renewPeriodically(this.#stop.signal);
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
   * Acquires the lease again under a higher fence, so that abandoned work under the old one can no longer write. Needs
   * a new holder: the old one would get its old fence back.
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

  async #renewPeriodically(signal: AbortSignal): Promise<void> {
    const everyMs = this.#leaseMs / 3;
    let pauseMs = everyMs;
    while (!signal.aborted) {
      await this.#clock.sleep(pauseMs, signal);
      if (signal.aborted) return;
      this.#loseExpiring();
      const outcome = await this.#renew();
      this.#loseExpiring();
      pauseMs = outcome === "renewed" ? everyMs : renewalRetryMs(this.#leaseMs);
    }
  }

  async #renew(): Promise<"renewed" | "failed"> {
    const renewing = [...this.#held];
    const askedAt = this.#clock.now();
    const refs = renewing.map(({ lease: { kind, session, fence } }) => ({ kind, session, fence }));
    const renewal = this.#leases
      .renew(refs, this.#leaseMs)
      // A late answer still says which leases are ours.
      .then((result) => this.#applyRenewal(renewing, askedAt, result))
      .catch(() => "failed" as const);
    const limit = { clock: this.#clock, ms: renewalTimeoutMs(this.#leaseMs) };
    const answer = await withTimeout(limit, () => renewal);
    return answer.status === "done" ? answer.value : "failed";
  }

  #applyRenewal(
    renewing: readonly HeldLease[],
    askedAt: number,
    result: RenewResult,
  ): "renewed" | "failed" {
    if (result.status === "failed") return "failed";
    const lost = new Map(result.lost.map(({ session, fence }) => [session, fence]));
    for (const held of renewing) {
      const { session, fence } = held.lease;
      // If its fence was raised in the meantime, the lease is not the one that was renewed.
      if (lost.get(session) === fence) held.lose("fenced");
      else if (!lost.has(session)) held.until = Math.max(held.until, askedAt + this.#leaseMs);
    }
    return "renewed";
  }

  /** Without a renewal we stop by the monotonic clock, one renewal interval before the lease runs out. */
  #loseExpiring(): void {
    const soon = this.#clock.now() + this.#leaseMs / 3;
    for (const held of this.#held) if (held.until <= soon) held.lose("store");
  }
}

export interface Heartbeat {
  /** Aborted when the lease is lost, or can no longer be proven ours: work under it must stop. */
  readonly lost: AbortSignal;
  /** Whether it is ours at this moment. A process that was frozen is told of its loss late. */
  readonly isHeld: () => boolean;
  /** Ends the heartbeat without releasing the lease. */
  stop(): Promise<void>;
}

interface HeartbeatDeps {
  readonly leases: Leases;
  readonly ref: LeaseRef;
  readonly clock: Clock;
  readonly ttlMs: number;
  readonly everyMs: number;
  /** Until then it is ours by our own clock, counted from before the store was asked. */
  readonly safeUntil: number;
}

/**
 * Renews a lease while its holder works. A renewal that fails or hangs is retried until the last good one has expired
 * by our own clock; then the lease counts as lost, since somebody else may hold it.
 */
export function startHeartbeat(deps: HeartbeatDeps): Heartbeat {
  const lost = new AbortController();
  const stopping = new AbortController();
  const held = { safeUntil: deps.safeUntil };
  const heartbeat = renewUntilStopped(deps, held, lost, stopping.signal);
  return {
    lost: lost.signal,
    isHeld: () => !lost.signal.aborted && deps.clock.now() < held.safeUntil,
    async stop() {
      stopping.abort();
      await heartbeat;
    },
  };
}

async function renewUntilStopped(
  { leases, ref, clock, ttlMs, everyMs }: HeartbeatDeps,
  held: { safeUntil: number },
  lost: AbortController,
  stopping: AbortSignal,
): Promise<void> {
  let pause = everyMs;
  for (;;) {
    await clock.sleep(Math.min(pause, held.safeUntil - clock.now()), stopping);
    if (stopping.aborted) return;
    const askedAt = clock.now();
    if (askedAt >= held.safeUntil) return lost.abort();
    const answer = await withTimeout(
      { clock, ms: Math.min(held.safeUntil - askedAt, renewalTimeoutMs(ttlMs)), signal: stopping },
      // An exception is no answer either: the expiry of the last good renewal decides.
      () => leases.renew([ref], ttlMs).catch(() => undefined),
    );
    if (stopping.aborted) return;
    if (answer.status === "done" && answer.value?.status === "renewed") {
      if (answer.value.lost.length > 0) return lost.abort();
      held.safeUntil = askedAt + ttlMs;
      pause = everyMs;
    } else {
      if (clock.now() >= held.safeUntil) return lost.abort();
      pause = Math.min(everyMs / 3, renewalRetryMs(ttlMs));
    }
  }
}
