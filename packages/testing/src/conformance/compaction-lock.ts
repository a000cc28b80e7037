import { ids, type SessionId } from "@holdfast/protocol";

import {
  createCompactionLock,
  describeHolder,
  type Holder,
  type Leases,
  type Liveness,
} from "@holdfast/engine";
import { aHolder, anEvent, aNotice } from "../fixtures/factories.ts";
import type { StoreCase } from "./harness.ts";
import { manualClock } from "../fakes/manual-clock.ts";
import { openTestSession, assertPresent, assertSameJson } from "../fixtures/open-session.ts";

const minute = 60_000;
const livenessWithDead = (...holders: readonly Holder[]): Liveness => ({
  isDead: (holder) => (holders.some((dead) => dead.nonce === holder.nonce) ? "dead" : "unknown"),
});

/** What two processes that want to compact one session can rely on, on every store. */
export const compactionLockCases: readonly StoreCase[] = [
  {
    title: "[S0.1] an unlocked session's lock is acquired, and the holder can be read back",
    async run({ store, open }) {
      const { session } = await openTestSession(store);
      const holder = aHolder();
      const held = assertPresent(await createCompactionLock(store.leases).acquire(session, holder));
      assertSameJson([held.session, held.fence], [session, 1]);
      const other = await open();
      assertSameJson(await createCompactionLock(other.leases).holder(session), holder);
      await other.close();
    },
  },
  {
    title:
      "[S0.2] a second holder is refused while the first holds, and the first stays the holder",
    async run({ store }) {
      const { session } = await openTestSession(store);
      const lock = createCompactionLock(store.leases);
      const first = aHolder();
      assertPresent(await lock.acquire(session, first));
      assertSameJson(await lock.acquire(session, aHolder()), null);
      assertSameJson(await lock.holder(session), first);
    },
  },
  {
    title: "[S0.3] after a release the holder reads as none, and another can acquire",
    async run({ store }) {
      const { session } = await openTestSession(store);
      const lock = createCompactionLock(store.leases);
      const [first, second] = [aHolder(), aHolder()];
      const held = assertPresent(await lock.acquire(session, first));
      await lock.release(session, first);
      assertSameJson(await lock.holder(session), null);
      assertSameJson(assertPresent(await lock.acquire(session, second)).fence > held.fence, true);
      assertSameJson(await lock.holder(session), second);
    },
  },
  {
    title: "[S0.4] a release by someone who is not the holder changes nothing",
    async run({ store }) {
      const { session } = await openTestSession(store);
      const lock = createCompactionLock(store.leases);
      const first = aHolder();
      assertPresent(await lock.acquire(session, first));
      await lock.release(session, { ...first, nonce: "another" });
      assertSameJson(await lock.holder(session), first);
      assertSameJson(await lock.acquire(session, aHolder()), null);
    },
  },
  {
    title: "[S0.5] releasing what was never locked is harmless",
    async run({ store }) {
      const { session } = await openTestSession(store);
      const lock = createCompactionLock(store.leases);
      await lock.release(session, aHolder());
      await lock.release(ids.make("session"), aHolder());
      assertSameJson(assertPresent(await lock.acquire(session, aHolder())).fence, 1);
    },
  },
  {
    title: "[S0.6] locks are per session: two sessions, two holders, no interference",
    async run({ store }) {
      const [a, b] = [await openTestSession(store), await openTestSession(store)];
      const lock = createCompactionLock(store.leases);
      const [first, second] = [aHolder(), aHolder()];
      assertPresent(await lock.acquire(a.session, first));
      assertPresent(await lock.acquire(b.session, second));
      await lock.release(a.session, first);
      assertSameJson([await lock.holder(a.session), await lock.holder(b.session)], [null, second]);
    },
  },
  {
    title: "[S0.7] an expired lock reads as not held, and another can acquire it",
    async run({ store, advanceClock }) {
      const { session } = await openTestSession(store);
      const lock = createCompactionLock(store.leases);
      const crashed = assertPresent(await lock.acquire(session, aHolder()));
      await advanceClock(5 * minute + 1);
      assertSameJson(await lock.holder(session), null);
      const held = assertPresent(await lock.acquire(session, aHolder()));
      assertSameJson(held.fence > crashed.fence, true);
      assertSameJson(await lock.renew(crashed), null);
    },
  },
  {
    title: "[S0.8] a lock that has not expired is held",
    async run({ store, advanceClock }) {
      const { session } = await openTestSession(store);
      const lock = createCompactionLock(store.leases);
      const holder = aHolder();
      assertPresent(await lock.acquire(session, holder));
      await advanceClock(5 * minute - 10_000);
      assertSameJson(await lock.holder(session), holder);
      assertSameJson(await lock.acquire(session, aHolder()), null);
    },
  },
  {
    title:
      "[S0.9] an empty session id: acquire says no, release does nothing, holder reads as none",
    async run() {
      const untouched = new Proxy({} as Leases, {
        get(_target, method) {
          throw new Error(`The store was asked to ${String(method)}.`);
        },
      });
      const lock = createCompactionLock(untouched);
      assertSameJson(await lock.acquire("", aHolder()), null);
      await lock.release("", aHolder());
      assertSameJson(await lock.holder(""), null);
    },
  },
  {
    title:
      "[S0.13] the holder names host, process, thread, agent and nonce, and a diagnosis shows them",
    async run({ store }) {
      const { session } = await openTestSession(store);
      const lock = createCompactionLock(store.leases);
      const holderFields = { host: "box", pid: 4711, thread: 33, agent: "review", nonce: "n1" };
      assertPresent(await lock.acquire(session, aHolder(holderFields)));
      const shown = describeHolder(assertPresent(await lock.holder(session)));
      // No value contains another.
      for (const part of Object.values(holderFields))
        assertSameJson(shown.includes(String(part)), true, shown);
    },
  },
  {
    title: "[S0.14] the time to live is five minutes by default and settable",
    async run({ store, advanceClock }) {
      const byDefault = await openTestSession(store);
      const shortened = await openTestSession(store);
      assertPresent(await createCompactionLock(store.leases).acquire(byDefault.session, aHolder()));
      const lock = createCompactionLock(store.leases, { ttlMs: minute });
      assertPresent(await lock.acquire(shortened.session, aHolder()));
      await advanceClock(minute + 1);
      assertSameJson(await lock.holder(shortened.session), null);
      await advanceClock(4 * minute - 10_000);
      assertSameJson((await lock.holder(byDefault.session)) === null, false);
      await advanceClock(10_000);
      assertSameJson(await lock.holder(byDefault.session), null);
    },
  },
  {
    title: "[S0.17] a slow but living holder keeps its lock by heartbeat, past the time to live",
    async run({ store, advanceClock }) {
      const chat = await openTestSession(store);
      const clock = manualClock();
      const lock = createCompactionLock(store.leases, { ttlMs: minute, clock });
      const holder = aHolder();
      const held = assertPresent(await lock.acquire(chat.session, holder));
      const heartbeat = lock.keep(held, 20_000);
      for (let passed = 0; passed < 4; passed += 1) {
        await advanceClock(20_000);
        const before = assertPresent(await store.leases.read("compaction", chat.session)).expiresAt;
        await clock.advance(20_000);
        await pollUntil(async () => {
          const lease = await store.leases.read("compaction", chat.session);
          return lease !== null && lease.expiresAt > before;
        });
      }
      assertSameJson(await lock.holder(chat.session), holder);
      assertSameJson(heartbeat.lost.aborted, false);
      const under = { lease: "compaction", fence: held.fence } as const;
      await chat.commit([aNotice("compacted")], { under });
      await heartbeat.stop();
    },
  },
  {
    title: "[S0.18] acquiring again as the same holder extends the lock",
    async run({ store, advanceClock }) {
      const { session } = await openTestSession(store);
      const lock = createCompactionLock(store.leases);
      const holder = aHolder();
      const first = assertPresent(await lock.acquire(session, holder));
      await advanceClock(4 * minute);
      assertSameJson(assertPresent(await lock.acquire(session, holder)).fence, first.fence);
      await advanceClock(4 * minute);
      assertSameJson(await lock.holder(session), holder);
    },
  },
  {
    title: "[S0.21] a holder that is proven dead is replaced before its expiry, any other is not",
    async run({ store }) {
      const { session } = await openTestSession(store);
      const [gone, next, last] = [aHolder(), aHolder(), aHolder()];
      const first = assertPresent(await createCompactionLock(store.leases).acquire(session, gone));
      const unsure = createCompactionLock(store.leases, { liveness: livenessWithDead() });
      assertSameJson(await unsure.acquire(session, next), null);
      const lock = createCompactionLock(store.leases, { liveness: livenessWithDead(gone) });
      assertSameJson(assertPresent(await lock.acquire(session, next)).fence > first.fence, true);
      assertSameJson(await lock.acquire(session, last), null);
      assertSameJson(await lock.holder(session), next);
    },
  },
  {
    title: "neither a missing session nor a trashed one can be locked",
    async run({ store }) {
      const lock = createCompactionLock(store.leases);
      assertSameJson(await lock.acquire(ids.make("session"), aHolder()), null);
      assertSameJson(await lock.holder("nonsense" as SessionId), null);
      const chat = await openTestSession(store);
      await chat.commit([anEvent("session.trashed", {})]);
      assertSameJson(await lock.acquire(chat.session, aHolder()), null);
    },
  },
];

/** Polls until the condition holds; every store call yields to others. */
async function pollUntil(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setImmediate(resolve));
}
