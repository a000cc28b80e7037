import { backoffMs } from "@holdfast/protocol";
import { clientNetwork } from "../../util/ip-networks.ts";

/** Counts failed sign-in attempts per client network to slow down guessing. */
export interface AttemptThrottle {
  /** Counts one attempt. Returns how long it must wait in milliseconds; 0 means it may proceed. */
  take(address: string): number;
  /** Forgets the attempts after a valid proof. */
  reset(address: string): void;
}

const freeAttempts = 5;
const waitBackoff = { firstMs: 1_000, longestMs: 5 * 60_000 };
const resetAfterMs = 30 * 60_000;
/** Bounds memory: a flood of other addresses evicts the oldest. */
const maxAddresses = 10_000;

interface AttemptRecord {
  readonly count: number;
  readonly at: number;
  readonly openAt: number;
}

export function isForgotten({ at }: Pick<AttemptRecord, "at">, now: number): boolean {
  return now - at >= resetAfterMs;
}

/** `wait`: how long the attempt must wait; it then counts for nothing. */
export function countAttempt(
  previous: AttemptRecord | undefined,
  at: number,
): { readonly record: AttemptRecord; readonly wait: number } {
  const recent = previous === undefined || isForgotten(previous, at) ? undefined : previous;
  if (recent !== undefined && at < recent.openAt)
    return { record: recent, wait: recent.openAt - at };
  const count = (recent?.count ?? 0) + 1;
  const excess = count - freeAttempts;
  const next = excess < 0 ? 0 : backoffMs(waitBackoff, excess);
  return { record: { count, at, openAt: at + next }, wait: 0 };
}

/**
 * Counts an attempt before it is verified, so concurrent attempts count like sequential ones. Only the attempts on this
 * host.
 */
export function createAttemptThrottle(now: () => number = Date.now): AttemptThrottle {
  const attempts = new Map<string, AttemptRecord>();
  return {
    take(address) {
      const key = clientNetwork(address);
      const { record, wait } = countAttempt(attempts.get(key), now());
      if (wait > 0) return wait;
      attempts.delete(key);
      attempts.set(key, record);
      const [oldest] = attempts.keys();
      if (attempts.size > maxAddresses && oldest !== undefined) attempts.delete(oldest);
      return 0;
    },
    reset: (address) => void attempts.delete(clientNetwork(address)),
  };
}

/** Lets a network that has used up its free attempts try slowly, instead of not at all. */
export interface SlowLane {
  /** Resolves `go` when the attempt may be verified. `full`: too many of the network wait already. */
  enter(address: string): Promise<"go" | "full">;
}

const slowLaneMs = 1_000;
const maxInSlowLane = 4;

/**
 * A token has no second way in, so wrong guesses of another client at the same address must not lock out the right one.
 * Four guesses a second are too few to find a token of a sensible length.
 */
export function createSlowLane(
  wait: (ms: number) => Promise<void> = (ms) =>
    new Promise((resolve) => {
      setTimeout(resolve, ms);
    }),
): SlowLane {
  const waiting = new Map<string, number>();
  return {
    async enter(address) {
      const key = clientNetwork(address);
      const ahead = waiting.get(key) ?? 0;
      if (ahead >= maxInSlowLane) return "full";
      waiting.set(key, ahead + 1);
      await wait(slowLaneMs);
      const left = (waiting.get(key) ?? 1) - 1;
      if (left === 0) waiting.delete(key);
      else waiting.set(key, left);
      return "go";
    },
  };
}
