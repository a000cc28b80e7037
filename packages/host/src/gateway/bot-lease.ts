import {
  type Clock,
  describeHolder,
  type Holder,
  type Liveness,
  type Store,
} from "@holdfast/engine";
import type { OwnerId } from "@holdfast/protocol";
import { z } from "zod";

import { holderSchema } from "@holdfast/store/identity";

export interface BotLeaseDeps {
  readonly store: Pick<Store, "register" | "now">;
  readonly clock: Clock;
  readonly holder: () => Holder;
  readonly liveness: Liveness;
  readonly leaseMs: number;
  readonly owner: OwnerId;
  /** Platform and bot. */
  readonly bot: string;
  /** Another host has it. */
  readonly onHeld: (by: string) => void;
}

const leaseRow = z.object({ holder: holderSchema, until: z.int() });
type LeaseRow = z.infer<typeof leaseRow>;

const retryMs = 2_000;

/**
 * One host at a time receives and sends for a bot: platforms end one poller when another asks, and a chat hears things in
 * their order only from one. Whoever finds the holder dead, or its time over, goes on. P11 does not rest on it: what two
 * take in at once is one turn, and what is sent is written under each session's own lease.
 */
export async function withBotLease(
  deps: BotLeaseDeps,
  signal: AbortSignal,
  work: (held: AbortSignal) => Promise<void>,
): Promise<void> {
  const { clock, leaseMs } = deps;
  const lease = new BotLease(deps);
  while (!signal.aborted) {
    const askedAt = clock.now();
    if (!(await lease.take())) {
      await clock.sleep(Math.min(retryMs, leaseMs / 3), signal);
      continue;
    }
    const over = new AbortController();
    const held = AbortSignal.any([signal, over.signal]);
    const keeping = renewUntilLost(deps, lease, askedAt + leaseMs, held).then(() => over.abort());
    try {
      await work(held);
    } finally {
      over.abort();
      await keeping;
      await lease.release();
    }
  }
}

/** Resolves when it is lost, or could not be renewed while it was certainly ours. */
async function renewUntilLost(
  { clock, leaseMs }: BotLeaseDeps,
  lease: BotLease,
  given: number,
  signal: AbortSignal,
): Promise<void> {
  let safeUntil = given;
  while (!signal.aborted) {
    await clock.sleep(Math.min(leaseMs / 3, safeUntil - clock.now()), signal);
    const askedAt = clock.now();
    if (signal.aborted || askedAt >= safeUntil) return;
    const renewed = await Promise.race([
      lease.renew(),
      clock.sleep(safeUntil - askedAt, signal).then(() => "unknown" as const),
    ]);
    if (renewed === "lost") return;
    if (renewed === "renewed") safeUntil = askedAt + leaseMs;
  }
}

class BotLease {
  readonly #deps: BotLeaseDeps;
  readonly #me: Holder;
  readonly #key: string;
  #revision = 0;

  constructor(deps: BotLeaseDeps) {
    this.#deps = deps;
    this.#me = deps.holder();
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
      current.holder.nonce === this.#me.nonce ||
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
    const value = JSON.stringify({ holder: this.#me, until } satisfies LeaseRow);
    const change = { owner, key: this.#key, value, expect: this.#revision };
    const result = await store.register.put(change);
    if (result.status === "failed") return "unknown";
    const { row } = result;
    const isOurs = row !== null && decodeLease(row.value)?.holder.nonce === this.#me.nonce;
    if (!isOurs) return "lost";
    this.#revision = row.revision;
    // A write whose answer was not heard stands there as ours: the next one goes on from it.
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
