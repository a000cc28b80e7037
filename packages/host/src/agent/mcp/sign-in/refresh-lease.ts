import type { Clock, Holder, Liveness, Store } from "@holdfast/engine";
import { ownerId } from "@holdfast/protocol";
import { holderSchema } from "@holdfast/store/identity";
import { z } from "zod";

export interface RefreshLeaseDeps {
  readonly store: Pick<Store, "register" | "now">;
  readonly clock: Clock;
  readonly holder: () => Holder;
  readonly liveness: Liveness;
}

const leaseRow = z.object({ holder: holderSchema, until: z.int() });
const owner = ownerId.parse("owner");
/** Longer than a refresh may take, so nobody else begins one meanwhile. */
const leaseMs = 30_000;
const retryMs = 100;

/**
 * Runs `work` while no other process does, for at most as long as the lease. `isSettled` is asked while another process
 * holds it: the wait ends when that one has done the work. Fails after `patienceMs`.
 */
export async function underRefreshLease<T>(
  { store, clock, holder, liveness }: RefreshLeaseDeps,
  name: string,
  wait: { readonly patienceMs: number; readonly isSettled: () => Promise<boolean> },
  work: () => Promise<T>,
): Promise<
  { readonly status: "done"; readonly value: T } | { readonly status: "settled" | "busy" }
> {
  const key = `mcp-refresh/${name}`;
  const me = holder();

  async function put(until: number, expect: number): Promise<number | null> {
    const value = JSON.stringify({ holder: me, until });
    const result = await store.register.put({ owner, key, value, expect });
    return result.status === "put" ? result.row.revision : null;
  }

  async function take(): Promise<number | null> {
    const row = await store.register.read(owner, key);
    const held = row === null ? null : decode(row.value);
    const now = await store.now();
    const isFree = held === null || held.until <= now || liveness.isDead(held.holder) === "dead";
    return isFree ? put(now + leaseMs, row?.revision ?? 0) : null;
  }

  const giveUpAt = clock.now() + wait.patienceMs;
  for (;;) {
    const revision = await take();
    if (revision !== null) {
      try {
        return { status: "done", value: await work() };
      } finally {
        // If this fails, the lease ends by itself.
        await put(0, revision).catch(() => null);
      }
    }
    if (await wait.isSettled()) return { status: "settled" };
    if (clock.now() >= giveUpAt) return { status: "busy" };
    await clock.sleep(retryMs, new AbortController().signal);
  }
}

function decode(value: string): z.infer<typeof leaseRow> | null {
  try {
    return leaseRow.parse(JSON.parse(value));
  } catch {
    return null;
  }
}
