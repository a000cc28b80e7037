import {
  type Clock,
  describeHolder,
  type Holder,
  type Liveness,
  renewalRetryMs,
  renewalTimeoutMs,
  type Store,
} from "@holdfast/engine";
import { type OwnerId, withTimeout } from "@holdfast/protocol";
import { z } from "zod";

import { holderSchema } from "@holdfast/store/identity";

export interface BotLeaseDeps {
  readonly store: Pick<Store, "register" | "now">;
  readonly clock: Clock;
  readonly holder: () => Holder;
  readonly liveness: Liveness;
  readonly leaseMs: number;
  readonly owner: OwnerId;
  /** `platform:bot`, part of the lease's key. */
  readonly bot: string;
  /** Called when another host holds the lease. */
  readonly onHeld: (by: string) => void;
}

const leaseRow = z.object({ holder: holderSchema, until: z.int() });
type LeaseRow = z.infer<typeof leaseRow>;

const retryMs = 2_000;

/**
 * One host at a time receives and sends for a bot: platforms cut off one poller when another polls, and only a
 * single sender keeps a chat's messages in order. Another host takes over once the holder is dead or its lease has
 * expired. P11 does not depend on it: inbound keys turn a message that two hosts receive into one turn, and sends
 * are written under each session's own lease.
 */
export async function withBotLease(
  deps: BotLeaseDeps,
  signal: AbortSignal,
  work: (heldSignal: AbortSignal) => Promise<void>,
): Promise<void> {
  const { clock, leaseMs } = deps;
  const lease = new BotLease(deps);
  while (!signal.aborted) {
    const askedAt = clock.now();
    if (!(await lease.take())) {
      await clock.sleep(Math.min(retryMs, leaseMs / 3), signal);
      continue;
    }
    const ended = new AbortController();
    const heldSignal = AbortSignal.any([signal, ended.signal]);
    const renewing = renewUntilLost(deps, lease, askedAt + leaseMs, heldSignal).then(() =>
      ended.abort(),
    );
    try {
      await work(heldSignal);
    } finally {
      ended.abort();
      await renewing;
      await lease.release();
    }
  }
}

/** Resolves when the lease is lost, or could not be renewed before it may have expired. */
async function renewUntilLost(
  { clock, leaseMs }: BotLeaseDeps,
  lease: BotLease,
  initialSafeUntil: number,
  signal: AbortSignal,
): Promise<void> {
  let safeUntil = initialSafeUntil;
  let pauseMs = leaseMs / 3;
  while (!signal.aborted) {
    await clock.sleep(Math.min(pauseMs, safeUntil - clock.now()), signal);
    const askedAt = clock.now();
    if (signal.aborted || askedAt >= safeUntil) return;
    const limit = { clock, ms: Math.min(safeUntil - askedAt, renewalTimeoutMs(leaseMs)), signal };
    const renewed = await withTimeout(limit, () => lease.renew());
    pauseMs = renewalRetryMs(leaseMs);
    if (renewed.status !== "done") continue;
    if (renewed.value === "lost") return;
    if (renewed.value !== "renewed") continue;
    safeUntil = askedAt + leaseMs;
    pauseMs = leaseMs / 3;
  }
}

class BotLease {
  readonly #deps: BotLeaseDeps;
  readonly #holder: Holder;
  readonly #key: string;
  #revision = 0;

  constructor(deps: BotLeaseDeps) {
    this.#deps = deps;
    this.#holder = deps.holder();
    this.#key = `bot/${deps.bot}`;
  }

  async take(): Promise<boolean> {
    const { store, liveness, owner, onHeld } = this.#deps;
    const row = await store.register.read(owner, this.#key).catch(() => undefined);
    if (row === undefined) return false;
    const current = row && decodeLease(row.value);
    const now = await store.now();
    const isFree =
      current === null ||
      current.until <= now ||
      current.holder.nonce === this.#holder.nonce ||
      liveness.isDead(current.holder) === "dead";
    if (!isFree) {
      onHeld(describeHolder(current.holder));
      return false;
    }
    this.#revision = row?.revision ?? 0;
    return (await this.renew()) === "renewed";
  }

  async renew(): Promise<"renewed" | "lost" | "unknown"> {
    const { store, leaseMs } = this.#deps;
    try {
      return await this.#write((await store.now()) + leaseMs);
    } catch {
      return "unknown";
    }
  }

  async release(): Promise<void> {
    await this.#write(0).catch(() => undefined);
  }

  async #write(until: number): Promise<"renewed" | "lost" | "unknown"> {
    const { store, owner } = this.#deps;
    const value = JSON.stringify({ holder: this.#holder, until } satisfies LeaseRow);
    const change = { owner, key: this.#key, value, expect: this.#revision };
    const result = await store.register.put(change);
    if (result.status === "failed") return "unknown";
    const { row } = result;
    const isOurs = row !== null && decodeLease(row.value)?.holder.nonce === this.#holder.nonce;
    if (!isOurs) return "lost";
    this.#revision = row.revision;
    // Our own write whose response was lost: the next write continues from its revision.
    return result.status === "put" ? "renewed" : "unknown";
  }
}

function decodeLease(value: string): LeaseRow | null {
  try {
    return leaseRow.parse(JSON.parse(value));
  } catch {
    return null;
  }
}
