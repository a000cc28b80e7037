import { clientNetwork } from "../../util/ip-networks.ts";

/** Counts wrong proofs by where they come from, so that guessing gets slow long before it gets anywhere. */
export interface AttemptThrottle {
  /** Counts one try. How long it has to wait instead, in milliseconds; 0: it may be judged now. */
  take(address: string): number;
  /** The proof was good: what was counted is forgotten. */
  reset(address: string): void;
}

const freeTries = 5;
const firstWaitMs = 1_000;
const longestWaitMs = 5 * 60_000;
const resetAfterMs = 30 * 60_000;
/** So many addresses are remembered; a flood of others pushes out the oldest and costs no more memory. */
const maxAddresses = 10_000;

interface AttemptRecord {
  readonly count: number;
  readonly at: number;
  readonly openAt: number;
}

/** A try is counted before it is judged: many at once are as many as one after the other. */
export function createAttemptThrottle(now: () => number = Date.now): AttemptThrottle {
  const tried = new Map<string, AttemptRecord>();
  return {
    take(address) {
      const key = clientNetwork(address);
      const at = now();
      const before = tried.get(key);
      const recent = before !== undefined && at - before.at < resetAfterMs ? before : undefined;
      if (recent !== undefined && at < recent.openAt) return recent.openAt - at;
      const count = (recent?.count ?? 0) + 1;
      const excess = count - freeTries;
      const wait =
        excess < 0 ? 0 : Math.min(longestWaitMs, firstWaitMs * 2 ** Math.min(excess, 20));
      tried.delete(key);
      tried.set(key, { count, at, openAt: at + wait });
      const [oldest] = tried.keys();
      if (tried.size > maxAddresses && oldest !== undefined) tried.delete(oldest);
      return 0;
    },
    reset: (address) => void tried.delete(clientNetwork(address)),
  };
}
