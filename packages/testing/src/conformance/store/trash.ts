import {
  anEvent,
  aLane,
  anInput,
  anOwner,
  aRunId,
  aRunState,
  toSeq,
  aUsage,
  aUserMessage,
} from "../../fixtures/factories.ts";
import type { StoreCase } from "../harness.ts";
import { openTestSession, assertSameJson, seqsOf, textsOf } from "../../fixtures/open-session.ts";

const trashed = () => anEvent("session.trashed", {});
const restored = () => anEvent("session.restored", {});

export const trashCases: readonly StoreCase[] = [
  {
    title: "a trashed session is readable and accepts nothing but its restoration",
    async run({ store }) {
      const chat = await openTestSession(store, { title: "old" });
      await chat.commit([aUserMessage("kept")]);
      const { at: trashedAt } = await chat.commit([trashed()]);
      assertSameJson((await chat.row()).trashedAt, trashedAt);
      assertSameJson(textsOf(await chat.entries()), ["kept"]);
      await chat.refuses("session_trashed", [aUserMessage()]);
      await chat.refuses("session_trashed", [anInput()]);
      await chat.refuses("session_trashed", [trashed()]);
      await chat.refuses("session_trashed", [anEvent("session.changed", { title: "new" })]);
    },
  },
  {
    title: "a restored session is as before and continues with the next seq",
    async run({ store, advanceClock }) {
      const chat = await openTestSession(store, { title: "old", tags: ["t"], pinned: true });
      await chat.commit([aUserMessage("kept")]);
      const before = await chat.row();
      await chat.commit([trashed()]);
      await advanceClock(1_000);
      const { last, at: time } = await chat.commit([restored()]);
      assertSameJson(last, 4);
      assertSameJson(await chat.row(), {
        ...before,
        head: 4,
        revision: 3,
        activityAt: time,
        sortAt: time,
      });
      assertSameJson((await chat.commit([aUserMessage("more")])).first, 5);
      await chat.refuses("session_not_trashed", [restored()]);
    },
  },
  {
    title: "a restoration may also settle the session",
    async run({ store }) {
      const chat = await openTestSession(store);
      const { runId } = await chat.startRun();
      await chat.commit([trashed()]);
      await chat.commit([restored(), aRunState(runId, "cancelled")]);
      const { trashedAt, liveRun, lastState } = await chat.row();
      assertSameJson([trashedAt, liveRun, lastState], [null, null, "cancelled"]);
    },
  },
  {
    title: "only a trashed session can be purged, and only by its owner",
    async run({ store }) {
      const chat = await openTestSession(store);
      const { owner, session } = chat;
      assertSameJson(await store.purge(owner, session), {
        status: "refused",
        code: "session_not_trashed",
      });
      await chat.commit([trashed()]);
      const notFound = { status: "refused", code: "session_not_found" };
      assertSameJson(await store.purge(anOwner(), session), notFound);
      const purged = { status: "purged", events: 2 };
      assertSameJson(await store.purge(owner, session), purged);
      assertSameJson(
        await store.purge(owner, session),
        purged,
        "once more, as after an unknown outcome",
      );
      assertSameJson(await store.purge(anOwner(), session), notFound);
    },
  },
  {
    title: "after a purge only the purge record and the usage can be read",
    async run({ store, open }) {
      const chat = await openTestSession(store, { title: "gone", tags: ["t"], project: "p" });
      const { owner, session } = chat;
      const [runId, lane] = [aRunId(), aLane()];
      await chat.commit([anInput({ runId }), anEvent("lane.bound", { lane }), aUsage(runId)]);
      await chat.lease("compaction");
      await chat.commit([trashed()]);
      await store.purge(owner, session);
      const other = await open();
      for (const { reads, leases } of [store, other]) {
        assertSameJson(await reads.session(owner, session), null);
        assertSameJson(await reads.events(owner, session, { after: toSeq(0), limit: 9 }), null);
        assertSameJson(await reads.snapshot(owner, session, { limit: 9 }), null);
        assertSameJson(await reads.run(owner, runId), null);
        assertSameJson(await reads.lane(owner, lane), null);
        for (const shelf of ["active", "archived", "trash"] as const) {
          assertSameJson((await reads.sessions(owner, { shelf, limit: 9 })).sessions, []);
          assertSameJson((await reads.sessions(owner, { shelf, tag: "t", limit: 9 })).sessions, []);
        }
        assertSameJson(await leases.read("compaction", session), null);
        assertSameJson((await reads.usage(owner, {})).calls, 1);
      }
      const purges = [];
      for await (const row of store.audit.purges()) if (row.session === session) purges.push(row);
      assertSameJson(
        purges.map((row) => [row.owner, row.events]),
        [[owner, 5]],
      );
      await other.close();
    },
  },
  {
    title: "a purged id can't be reused, and late writes to it are refused",
    async run({ store }) {
      const chat = await openTestSession(store);
      const { fence } = await chat.lease("run");
      await chat.commit([trashed()]);
      await store.purge(chat.owner, chat.session);
      const send = async (...events: Parameters<typeof chat.send>) => {
        const result = await chat.send(...events);
        return "code" in result && result.code;
      };
      assertSameJson(await send([anEvent("session.created", {})]), "session_exists");
      assertSameJson(
        await send([aUserMessage()], { under: { lease: "run", fence } }),
        "session_not_found",
      );
      assertSameJson(await send([restored()]), "session_not_found");
      assertSameJson(await store.reads.session(chat.owner, chat.session), null);
    },
  },
  {
    title: "a purge leaves every other session alone",
    async run({ store }) {
      const [a, b] = [await openTestSession(store), await openTestSession(store)];
      for (const chat of [a, b])
        await chat.commit([aUserMessage("same"), anInput({ clientId: "c" })]);
      const before = await b.snapshot();
      await a.commit([trashed()]);
      await store.purge(a.owner, a.session);
      await store.prune(1_000);
      assertSameJson(await b.snapshot(), before);
      assertSameJson(seqsOf(await b.events()), [1, 2, 3]);
    },
  },
];
