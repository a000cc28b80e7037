import { createHash } from "node:crypto";
import type { Register } from "@holdfast/engine";
import { z } from "zod";
import { changeRow } from "../../agent/instructions/change-row.ts";
import { clientNetwork } from "../../util/ip-networks.ts";
import { countAttempt, isForgotten } from "./attempt-throttle.ts";
import { owner } from "./authenticator.ts";

/** Counts attempts to sign in. The attempts of all hosts on a store count together. */
export interface SignInThrottle {
  /** Counts one attempt. Returns how long it must wait in milliseconds; 0 means it may proceed. */
  take(client: string): number | Promise<number>;
  /** Forgets the attempts after a valid proof. */
  reset(client: string): void | Promise<void>;
}

const attempt = z.object({
  /** A digest of the client's network. */
  of: z.string(),
  count: z.number(),
  at: z.number(),
  openAt: z.number(),
});
const attempts = z.array(attempt);
type Attempts = z.infer<typeof attempts>;

/** Clients share rows, because a register has no removal. In a flood of clients the oldest of a row are forgotten. */
const maxPerRow = 60;

/**
 * Attempts as rows of the store. Only what counts a person's attempts may use it, because each attempt is a write.
 * Both functions reject with a `StoreFailure`.
 */
export function createSharedThrottle(
  register: Register,
  now: () => number = Date.now,
): SignInThrottle {
  function changeAttempts(
    client: string,
    choose: (own: Attempts[number] | undefined, of: string) => Attempts | null,
  ): Promise<void> {
    const digest = createHash("sha256").update(clientNetwork(client)).digest("hex");
    const of = digest.slice(2, 34);
    const key = `sign-in-attempts/${digest.slice(0, 2)}`;
    return changeRow(register, { owner, key }, (value) => {
      const all = decode(value).filter((each) => !isForgotten(each, now()));
      const chosen = choose(
        all.find((each) => each.of === of),
        of,
      );
      if (chosen === null) return null;
      const others = all.filter((each) => each.of !== of);
      return JSON.stringify([...others, ...chosen].slice(-maxPerRow));
    });
  }

  return {
    async take(client) {
      let wait = 0;
      await changeAttempts(client, (own, of) => {
        const counted = countAttempt(own, now());
        wait = counted.wait;
        return wait > 0 ? null : [{ of, ...counted.record }];
      });
      return wait;
    },
    reset: (client) => changeAttempts(client, (own) => (own === undefined ? null : [])),
  };
}

function decode(value: string | null): Attempts {
  if (value === null) return [];
  try {
    return attempts.safeParse(JSON.parse(value)).data ?? [];
  } catch {
    return [];
  }
}
