import {
  anEvent,
  aLane,
  anInput,
  anOwner,
  aRunId,
  toSeq,
  aUsage,
  aUserMessage,
} from "../../fixtures/factories.ts";
import type { StoreCase } from "../harness.ts";
import {
  assertRefused,
  TestSession,
  openTestSession,
  assertSameJson,
} from "../../fixtures/open-session.ts";

const noUsage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, costMicros: 0, calls: 0 };

export const ownerCases: readonly StoreCase[] = [
  {
    title: "another owner's session, run, lane, usage, blob and list read as if they didn't exist",
    async run({ store }) {
      const chat = await openTestSession(store);
      const [runId, lane] = [aRunId(), aLane()];
      await chat.commit([anInput({ runId }), anEvent("lane.bound", { lane }), aUsage(runId)]);
      const put = await store.putBlob(chat.owner, new TextEncoder().encode("mine"), "text/plain");
      if (put.status !== "stored") throw new Error(put.message);
      const otherOwner = anOwner();
      const { reads } = store;
      assertSameJson(await reads.session(otherOwner, chat.session), null);
      assertSameJson(
        await reads.events(otherOwner, chat.session, { after: toSeq(0), limit: 9 }),
        null,
      );
      assertSameJson(await reads.entries(otherOwner, chat.session, { limit: 9 }), null);
      assertSameJson(await reads.snapshot(otherOwner, chat.session, { limit: 9 }), null);
      assertSameJson(await reads.run(otherOwner, runId), null);
      assertSameJson(await reads.lane(otherOwner, lane), null);
      assertSameJson(await reads.blob(otherOwner, put.id), null);
      assertSameJson(await reads.usage(otherOwner, { session: chat.session }), noUsage);
      assertSameJson(await reads.usage(otherOwner, { runId }), noUsage);
      assertSameJson(await reads.usage(otherOwner, {}), noUsage);
      assertSameJson((await reads.sessions(otherOwner, { limit: 9 })).sessions, []);
      const purged = await store.purge(otherOwner, chat.session);
      assertSameJson(purged, { status: "refused", code: "session_not_found" });
    },
  },
  {
    title: "another owner's commit is refused as if the session didn't exist, even a repeated one",
    async run({ store }) {
      const chat = await openTestSession(store);
      const events = [aUserMessage("mine")];
      await chat.commit(events);
      const otherOwner = new TestSession(store, { owner: anOwner(), session: chat.session });
      assertRefused(await otherOwner.send([aUserMessage("theirs")]), "session_not_found");
      assertRefused(await otherOwner.send(events), "session_not_found");
      assertSameJson((await chat.row()).head, 2);
    },
  },
  {
    title: "the same bytes of two owners are two blobs",
    async run({ store }) {
      const [a, b] = [anOwner(), anOwner()];
      const bytes = new TextEncoder().encode(`shared by chance ${a}`);
      const [first, second] = [
        await store.putBlob(a, bytes, "text/plain"),
        await store.putBlob(b, bytes, "text/html"),
      ];
      if (first.status !== "stored" || second.status !== "stored") throw new Error("not stored");
      assertSameJson(first.id, second.id);
      assertSameJson((await store.reads.blob(a, first.id))?.mediaType, "text/plain");
      assertSameJson((await store.reads.blob(b, first.id))?.mediaType, "text/html");
    },
  },
  {
    title: "the same lane name of two owners is two lanes",
    async run({ store }) {
      const lane = aLane();
      const [a, b] = [await openTestSession(store), await openTestSession(store)];
      for (const chat of [a, b]) await chat.commit([anEvent("lane.bound", { lane })]);
      assertSameJson(await store.reads.lane(a.owner, lane), a.session);
      assertSameJson(await store.reads.lane(b.owner, lane), b.session);
    },
  },
];
