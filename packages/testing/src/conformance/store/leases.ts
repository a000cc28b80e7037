import { ids, type SessionId } from "@holdfast/protocol";

import type { LeaseKind, Store } from "@holdfast/engine";
import { toFence, aHolder, anEvent } from "../../fixtures/factories.ts";
import type { StoreCase } from "../harness.ts";
import { openTestSession, assertPresent, assertSameJson } from "../../fixtures/open-session.ts";

const minuteMs = 60_000;
const kinds: readonly LeaseKind[] = ["run", "compaction", "memory", "history", "outbox"];

function acquire(store: Store, session: SessionId, holder = aHolder(), ttlMs = 5 * minuteMs) {
  return store.leases.acquire({ kind: "compaction", session, holder, ttlMs });
}

export const leaseCases: readonly StoreCase[] = [
  {
    title: "an acquired lease can be read back with every field of its holder",
    async run({ store, open }) {
      const chat = await openTestSession(store);
      const holder = aHolder({ boot: null, pidNamespace: null, processStart: null, thread: 3 });
      const lease = await chat.lease("compaction", holder);
      assertSameJson([lease.kind, lease.session, lease.fence], ["compaction", chat.session, 1]);
      assertSameJson(lease.holder, holder);
      const other = await open();
      assertSameJson(await other.leases.read("compaction", chat.session), lease);
      await other.close();
    },
  },
  {
    title: "a second holder is refused while the first holds, and the first stays",
    async run({ store }) {
      const chat = await openTestSession(store);
      const first = await chat.lease("compaction");
      assertSameJson(await acquire(store, chat.session), { status: "held", by: first });
      assertSameJson(await store.leases.read("compaction", chat.session), first);
    },
  },
  {
    title: "one of many concurrent contenders wins, and the others learn who",
    async run({ store, open }) {
      const chat = await openTestSession(store);
      const other = await open();
      const results = await Promise.all(
        Array.from({ length: 8 }, (_, index) =>
          acquire(index % 2 === 0 ? store : other, chat.session),
        ),
      );
      const winner = results.filter((result) => result.status === "acquired");
      assertSameJson(winner.length, 1);
      const lease = assertPresent(winner[0]).lease;
      for (const result of results) if (result.status === "held") assertSameJson(result.by, lease);
      assertSameJson(await store.leases.read("compaction", chat.session), lease);
      await other.close();
    },
  },
  {
    title: "after a release nobody holds, and the next fence is greater",
    async run({ store }) {
      const chat = await openTestSession(store);
      const first = await chat.lease("compaction");
      assertSameJson(await store.leases.release(first), { status: "released" });
      assertSameJson(await store.leases.read("compaction", chat.session), null);
      assertSameJson((await chat.lease("compaction")).fence, first.fence + 1);
    },
  },
  {
    title: "a release with another fence, or of a lease that was never held, changes nothing",
    async run({ store }) {
      const chat = await openTestSession(store);
      const { session } = chat;
      const ref = { kind: "compaction", session, fence: toFence(1) } as const;
      assertSameJson(await store.leases.release(ref), { status: "not_held" });
      const lease = await chat.lease("compaction");
      assertSameJson(await store.leases.release({ ...ref, fence: toFence(lease.fence + 1) }), {
        status: "not_held",
      });
      assertSameJson(await store.leases.release({ ...lease, kind: "run" }), { status: "not_held" });
      assertSameJson(await store.leases.read("compaction", session), lease);
    },
  },
  {
    title: "leases are separate by session and by kind",
    async run({ store }) {
      const [a, b] = [await openTestSession(store), await openTestSession(store)];
      for (const chat of [a, b]) for (const kind of kinds) await chat.lease(kind);
      await store.leases.release(assertPresent(await store.leases.read("run", a.session)));
      assertSameJson(await store.leases.read("run", a.session), null);
      assertSameJson((await store.leases.read("memory", a.session)) === null, false);
      assertSameJson((await store.leases.read("run", b.session)) === null, false);
    },
  },
  {
    title: "a lease is held until the last moment of its time, then reads as none and can be taken",
    async run({ store, advanceClock }) {
      const chat = await openTestSession(store);
      const first = await chat.lease("compaction", aHolder(), 5 * minuteMs);
      await advanceClock(4 * minuteMs);
      assertSameJson((await acquire(store, chat.session)).status, "held");
      assertSameJson(await store.leases.read("compaction", chat.session), first);
      await advanceClock(minuteMs);
      assertSameJson(await store.leases.read("compaction", chat.session), null);
      assertSameJson((await chat.lease("compaction")).fence, first.fence + 1);
    },
  },
  {
    title: "a lease ends after the requested time",
    async run({ store }) {
      const chat = await openTestSession(store);
      const before = await store.now();
      const { expiresAt } = await chat.lease("compaction", aHolder(), 123 * minuteMs);
      const after = await store.now();
      assertSameJson(
        expiresAt >= before + 123 * minuteMs && expiresAt <= after + 123 * minuteMs,
        true,
      );
    },
  },
  {
    title: "a missing session has no lease: acquire is refused, release does nothing, nobody holds",
    async run({ store }) {
      for (const session of ["" as SessionId, ids.make("session")]) {
        assertSameJson(await acquire(store, session), {
          status: "refused",
          code: "session_not_found",
        });
        const ref = { kind: "compaction", session, fence: toFence(1) } as const;
        assertSameJson(await store.leases.release(ref), { status: "not_held" });
        assertSameJson(await store.leases.renew([ref], minuteMs), {
          status: "renewed",
          lost: [ref],
        });
        assertSameJson(await store.leases.read("compaction", session), null);
      }
    },
  },
  {
    title: "the same holder keeps its fence and can only extend its time",
    async run({ store, advanceClock }) {
      const chat = await openTestSession(store);
      const holder = aHolder();
      const first = await chat.lease("compaction", holder, 5 * minuteMs);
      await advanceClock(2 * minuteMs);
      const later = await chat.lease("compaction", holder, 5 * minuteMs);
      assertSameJson(later.fence, first.fence);
      assertSameJson(later.expiresAt >= first.expiresAt + 2 * minuteMs, true);
      const shorter = await chat.lease("compaction", holder, minuteMs);
      assertSameJson(shorter, later);
      await store.leases.renew([later], minuteMs);
      assertSameJson(await store.leases.read("compaction", chat.session), later);
    },
  },
  {
    title: "a holder that differs in a single field is another holder",
    async run({ store }) {
      const chat = await openTestSession(store);
      const holder = aHolder();
      await chat.lease("compaction", holder);
      const others = [{ host: "b" }, { pid: 2 }, { thread: 9 }, { agent: "b" }, { nonce: "b" }];
      for (const part of others) {
        const result = await acquire(store, chat.session, { ...holder, ...part });
        assertSameJson(result.status, "held", JSON.stringify(part));
      }
    },
  },
  {
    title: "renewing extends leases and names the lost ones",
    async run({ store, advanceClock }) {
      const [a, b] = [await openTestSession(store), await openTestSession(store)];
      const kept = await a.lease("run", aHolder(), minuteMs);
      const lost = await b.lease("run", aHolder(), minuteMs);
      await store.leases.release(lost);
      await b.lease("run", aHolder(), minuteMs);
      await advanceClock(minuteMs - 1_000);
      const renewed = await store.leases.renew([kept, lost], minuteMs);
      const lostLeases = renewed.status === "renewed" ? renewed.lost : [];
      assertSameJson(
        lostLeases.map(({ session, fence }) => [session, fence]),
        [[b.session, lost.fence]],
      );
      await advanceClock(minuteMs - 10_000);
      assertSameJson((await store.leases.read("run", a.session))?.fence, kept.fence);
      assertSameJson(
        await store.leases.read("run", b.session),
        null,
        "another's lease was not renewed",
      );
      const gone = await a.lease("memory", aHolder(), minuteMs);
      await store.leases.release(gone);
      const both = await store.leases.renew([kept, gone], minuteMs);
      assertSameJson(both.status === "renewed" ? both.lost.map(({ kind }) => kind) : both, [
        "memory",
      ]);
    },
  },
  {
    title: "an expired lease that nobody took can be renewed by its holder",
    async run({ store, advanceClock }) {
      const chat = await openTestSession(store);
      const lease = await chat.lease("run", aHolder(), minuteMs);
      await advanceClock(2 * minuteMs);
      assertSameJson(await store.leases.renew([lease], minuteMs), { status: "renewed", lost: [] });
      assertSameJson((await store.leases.read("run", chat.session))?.fence, lease.fence);
    },
  },
  {
    title: "a holder is replaced only if it is the one proven dead",
    async run({ store }) {
      const chat = await openTestSession(store);
      const dead = await chat.lease("run");
      const request = { kind: "run", session: chat.session, ttlMs: minuteMs } as const;
      const replace = () =>
        store.leases.acquire({ ...request, holder: aHolder(), replacing: dead.fence });
      const replaced = await replace();
      assertSameJson(replaced.status === "acquired" && replaced.lease.fence, dead.fence + 1);
      assertSameJson((await replace()).status, "held", "the proof was about another fence");
    },
  },
  {
    title: "the sweep finds expired leases, oldest first, up to its limit",
    async run({ store, advanceClock }) {
      const chats = [
        await openTestSession(store),
        await openTestSession(store),
        await openTestSession(store),
      ];
      for (const [index, chat] of chats.entries()) {
        await chat.lease("memory", aHolder(), (10 - index) * minuteMs);
      }
      const own = new Set(chats.map((chat) => chat.session));
      const found = async (limit: number) =>
        (await store.leases.expired("memory", limit)).filter((lease) => own.has(lease.session));
      assertSameJson(await found(1_000), []);
      await advanceClock(9 * minuteMs);
      const [, second, third] = chats.map((chat) => chat.session);
      assertSameJson(
        (await found(1_000)).map((lease) => lease.session),
        [third, second],
      );
      assertSameJson((await store.leases.expired("memory", 1)).length, 1);
      assertSameJson(await store.leases.expired("memory", 0), []);
    },
  },
  {
    title: "trashing drops every lease; fences keep growing across release, trash and restore",
    async run({ store, advanceClock }) {
      const chat = await openTestSession(store);
      const fences: number[] = [];
      for (const kind of ["run", "compaction"] as const) await chat.lease(kind);
      fences.push(assertPresent(await store.leases.read("run", chat.session)).fence);
      await chat.commit([anEvent("session.trashed", {})]);
      for (const kind of kinds) assertSameJson(await store.leases.read(kind, chat.session), null);
      assertSameJson(
        (await acquire(store, chat.session)).status,
        "refused",
        "a session in the trash",
      );
      await chat.commit([anEvent("session.restored", {})]);
      const restored = await chat.lease("run", aHolder(), minuteMs);
      fences.push(restored.fence);
      await store.leases.release(restored);
      fences.push((await chat.lease("run", aHolder(), minuteMs)).fence);
      await advanceClock(minuteMs);
      fences.push((await chat.lease("run")).fence);
      assertSameJson(fences, [1, 2, 3, 4]);
    },
  },
  {
    title: "a clock that steps back takes away nobody's lease",
    async run({ store, advanceClock }) {
      const chat = await openTestSession(store);
      const lease = await chat.lease("run", aHolder(), minuteMs);
      await advanceClock(-60 * minuteMs);
      assertSameJson(await store.leases.read("run", chat.session), lease);
      assertSameJson(await store.leases.renew([lease], minuteMs), { status: "renewed", lost: [] });
      assertSameJson((await acquire(store, chat.session, aHolder(), minuteMs)).status, "acquired");
      assertSameJson((await store.leases.read("run", chat.session))?.fence, lease.fence);
    },
  },
];
