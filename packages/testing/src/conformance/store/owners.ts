import {
  anEvent,
  aLane,
  anInput,
  anOwner,
  aRunId,
  at,
  aUsage,
  aUserMessage,
} from "../../fixtures/factories.ts";
import type { StoreCase } from "../harness.ts";
import { assertRefused, OpenSession, openSession, same } from "../../fixtures/open-session.ts";

const nothingUsed = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, costMicros: 0, calls: 0 };

export const ownerCases: readonly StoreCase[] = [
  {
    title:
      "another owner's session, run, lane, usage, blob and list read as if they were not there",
    async run({ store }) {
      const chat = await openSession(store);
      const [runId, lane] = [aRunId(), aLane()];
      await chat.commit([anInput({ runId }), anEvent("lane.bound", { lane }), aUsage(runId)]);
      const put = await store.putBlob(chat.owner, new TextEncoder().encode("mine"), "text/plain");
      if (put.status !== "stored") throw new Error(put.message);
      const stranger = anOwner();
      const { reads } = store;
      same(await reads.session(stranger, chat.session), null);
      same(await reads.events(stranger, chat.session, { after: at(0), limit: 9 }), null);
      same(await reads.entries(stranger, chat.session, { limit: 9 }), null);
      same(await reads.snapshot(stranger, chat.session, { limit: 9 }), null);
      same(await reads.run(stranger, runId), null);
      same(await reads.lane(stranger, lane), null);
      same(await reads.blob(stranger, put.id), null);
      same(await reads.usage(stranger, { session: chat.session }), nothingUsed);
      same(await reads.usage(stranger, { runId }), nothingUsed);
      same(await reads.usage(stranger, {}), nothingUsed);
      same((await reads.sessions(stranger, { limit: 9 })).sessions, []);
      const purged = await store.purge(stranger, chat.session);
      same(purged, { status: "refused", code: "session_not_found" });
    },
  },
  {
    title:
      "another owner's commit is refused as if the session were not there, also a repeated one",
    async run({ store }) {
      const chat = await openSession(store);
      const events = [aUserMessage("mine")];
      await chat.commit(events);
      const stranger = new OpenSession(store, { owner: anOwner(), session: chat.session });
      assertRefused(await stranger.send([aUserMessage("theirs")]), "session_not_found");
      assertRefused(await stranger.send(events), "session_not_found");
      same((await chat.row()).head, 2);
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
      same(first.id, second.id);
      same((await store.reads.blob(a, first.id))?.mediaType, "text/plain");
      same((await store.reads.blob(b, first.id))?.mediaType, "text/html");
    },
  },
  {
    title: "one lane name of two owners is two lanes",
    async run({ store }) {
      const lane = aLane();
      const [a, b] = [await openSession(store), await openSession(store)];
      for (const chat of [a, b]) await chat.commit([anEvent("lane.bound", { lane })]);
      same(await store.reads.lane(a.owner, lane), a.session);
      same(await store.reads.lane(b.owner, lane), b.session);
    },
  },
];
