import { ids, type SessionId } from "@holdfast/protocol";

import type { LeaseKind, Store } from "@holdfast/engine";
import { toFence, aHolder, anEvent } from "../../fixtures/factories.ts";
import type { StoreCase } from "../harness.ts";
import { openTestSession, assertPresent, assertSameJson } from "../../fixtures/open-session.ts";

const minute = 60_000;
const kinds: readonly LeaseKind[] = ["run", "compaction", "memory", "history", "outbox"];

function acquire(store: Store, session: SessionId, holder = aHolder(), ttlMs = 5 * minute) {
  return store.leases.acquire({ kind: "compaction", session, holder, ttlMs });
}

export const leaseCases: readonly StoreCase[] = [
  {
    title: "a lease is acquired, and its holder can be read back in every part",
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
    title: "of many contenders at one moment, one wins and the others are told who",
    async run({ store, open }) {
      const chat = await openTestSession(store);
      const other = await open();
      const results = await Promise.all(
        Array.from({ length: 8 }, (_, index) =>
          acquire(index % 2 === 0 ? store : other, chat.session),
        ),
      );
      const won = results.filter((result) => result.status === "acquired");
      assertSameJson(won.length, 1);
      const lease = assertPresent(won[0]).lease;
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
    title: "a release by another fence, and one of what was never held, change nothing",
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
    title: "leases are apart by session and by kind",
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
    title: "a lease is held to the last moment of its time, then reads as none and can be taken",
    async run({ store, advanceClock }) {
      const chat = await openTestSession(store);
      const first = await chat.lease("compaction", aHolder(), 5 * minute);
      await advanceClock(4 * minute);
      assertSameJson((await acquire(store, chat.session)).status, "held");
      assertSameJson(await store.leases.read("compaction", chat.session), first);
      await advanceClock(minute);
      assertSameJson(await store.leases.read("compaction", chat.session), null);
      assertSameJson((await chat.lease("compaction")).fence, first.fence + 1);
    },
  },
  {
    title: "a lease ends by the time that was asked for",
    async run({ store }) {
      const chat = await openTestSession(store);
      const before = await store.now();
      const { expiresAt } = await chat.lease("compaction", aHolder(), 123 * minute);
      const after = await store.now();
      assertSameJson(expiresAt >= before + 123 * minute && expiresAt <= after + 123 * minute, true);
    },
  },
  {
    title: "no session, no lease: acquire says no, release does nothing, nobody is the holder",
    async run({ store }) {
      for (const session of ["" as SessionId, ids.make("session")]) {
        assertSameJson(await acquire(store, session), {
          status: "refused",
          code: "session_not_found",
        });
        const ref = { kind: "compaction", session, fence: toFence(1) } as const;
        assertSameJson(await store.leases.release(ref), { status: "not_held" });
        assertSameJson(await store.leases.renew([ref], minute), { status: "renewed", lost: [ref] });
        assertSameJson(await store.leases.read("compaction", session), null);
      }
    },
  },
  {
    title: "the same holder again keeps its fence and gains time, and never loses any",
    async run({ store, advanceClock }) {
      const chat = await openTestSession(store);
      const holder = aHolder();
      const first = await chat.lease("compaction", holder, 5 * minute);
      await advanceClock(2 * minute);
      const later = await chat.lease("compaction", holder, 5 * minute);
      assertSameJson(later.fence, first.fence);
      assertSameJson(later.expiresAt >= first.expiresAt + 2 * minute, true);
      const shorter = await chat.lease("compaction", holder, minute);
      assertSameJson(shorter, later);
      await store.leases.renew([later], minute);
      assertSameJson(await store.leases.read("compaction", chat.session), later);
    },
  },
  {
    title: "a holder that differs in a single part is another holder",
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
    title: "renewing keeps leases past their first time, and names those that are lost",
    async run({ store, advanceClock }) {
      const [a, b] = [await openTestSession(store), await openTestSession(store)];
      const kept = await a.lease("run", aHolder(), minute);
      const lost = await b.lease("run", aHolder(), minute);
      await store.leases.release(lost);
      await b.lease("run", aHolder(), minute);
      await advanceClock(minute - 1_000);
      const renewed = await store.leases.renew([kept, lost], minute);
      const missed = renewed.status === "renewed" ? renewed.lost : [];
      assertSameJson(
        missed.map(({ session, fence }) => [session, fence]),
        [[b.session, lost.fence]],
      );
      await advanceClock(minute - 10_000);
      assertSameJson((await store.leases.read("run", a.session))?.fence, kept.fence);
      assertSameJson(
        await store.leases.read("run", b.session),
        null,
        "another's lease was not renewed",
      );
    },
  },
  {
    title: "a lease that ran out and that nobody took is renewed by its own holder",
    async run({ store, advanceClock }) {
      const chat = await openTestSession(store);
      const lease = await chat.lease("run", aHolder(), minute);
      await advanceClock(2 * minute);
      assertSameJson(await store.leases.renew([lease], minute), { status: "renewed", lost: [] });
      assertSameJson((await store.leases.read("run", chat.session))?.fence, lease.fence);
    },
  },
  {
    title: "a holder that is proven dead is replaced, and only the one that the proof is about",
    async run({ store }) {
      const chat = await openTestSession(store);
      const dead = await chat.lease("run");
      const request = { kind: "run", session: chat.session, ttlMs: minute } as const;
      const replace = () =>
        store.leases.acquire({ ...request, holder: aHolder(), replacing: dead.fence });
      const replaced = await replace();
      assertSameJson(replaced.status === "acquired" && replaced.lease.fence, dead.fence + 1);
      assertSameJson((await replace()).status, "held", "the proof was about another fence");
    },
  },
  {
    title: "the sweep finds what has expired, oldest first and bounded",
    async run({ store, advanceClock }) {
      const chats = [
        await openTestSession(store),
        await openTestSession(store),
        await openTestSession(store),
      ];
      for (const [index, chat] of chats.entries()) {
        await chat.lease("memory", aHolder(), (10 - index) * minute);
      }
      const own = new Set(chats.map((chat) => chat.session));
      const found = async (limit: number) =>
        (await store.leases.expired("memory", limit)).filter((lease) => own.has(lease.session));
      assertSameJson(await found(1_000), []);
      await advanceClock(9 * minute);
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
    title: "trash drops every lease; fences go on growing across release, trash and restore",
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
      const restored = await chat.lease("run", aHolder(), minute);
      fences.push(restored.fence);
      await store.leases.release(restored);
      fences.push((await chat.lease("run", aHolder(), minute)).fence);
      await advanceClock(minute);
      fences.push((await chat.lease("run")).fence);
      assertSameJson(fences, [1, 2, 3, 4]);
    },
  },
  {
    title: "a clock that steps back takes nobody's lease away",
    async run({ store, advanceClock }) {
      const chat = await openTestSession(store);
      const lease = await chat.lease("run", aHolder(), minute);
      await advanceClock(-60 * minute);
      assertSameJson(await store.leases.read("run", chat.session), lease);
      assertSameJson(await store.leases.renew([lease], minute), { status: "renewed", lost: [] });
      assertSameJson((await acquire(store, chat.session, aHolder(), minute)).status, "acquired");
      assertSameJson((await store.leases.read("run", chat.session))?.fence, lease.fence);
    },
  },
];
