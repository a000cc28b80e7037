import { type BlobId, ids, type OwnerId } from "@holdfast/protocol";

import { type BlobRow, keptBlobPrefix, keptByNobody, type Store } from "@holdfast/engine";
import {
  aFile,
  aMessageId,
  anEvent,
  aRange,
  anInput,
  anOwner,
  aRunId,
} from "../../fixtures/factories.ts";
import type { StoreCase } from "../harness.ts";
import { openTestSession, assertPresent, assertSameJson } from "../../fixtures/open-session.ts";

const hourMs = 3_600_000;
const bytesOf = (text: string) => new TextEncoder().encode(text);

async function put(store: Store, owner: OwnerId, text: string): Promise<BlobId> {
  const result = await store.putBlob(owner, bytesOf(text), "text/plain");
  if (result.status !== "stored") throw new Error(result.message);
  assertSameJson(result.size, bytesOf(text).byteLength);
  return result.id;
}

async function rowOf(store: Store, owner: OwnerId, id: BlobId): Promise<BlobRow | null> {
  for await (const row of store.audit.blobs()) {
    if (row.owner !== owner || row.id !== id) continue;
    assertSameJson(row.intact, true);
    return row;
  }
  return null;
}

const attach = (...blobs: BlobId[]) => anInput({ attachments: blobs.map((id) => aFile(id)) });

export const blobCases: readonly StoreCase[] = [
  {
    title: "any bytes round-trip",
    async run({ store, open }) {
      const owner = anOwner();
      const other = await open();
      const every = Uint8Array.from({ length: 512 }, (_, index) => index % 256);
      for (const bytes of [every, new Uint8Array(0), new Uint8Array(3_000_000).fill(7)]) {
        const result = await store.putBlob(owner, bytes, "application/octet-stream");
        if (result.status !== "stored") throw new Error(result.message);
        const found = assertPresent(await other.reads.blob(owner, result.id));
        assertSameJson(found.mediaType, "application/octet-stream");
        assertSameJson(Buffer.compare(found.bytes, bytes), 0);
      }
      await other.close();
    },
  },
  {
    title: "the same bytes are the same blob, named by their hash and stored once",
    async run({ store }) {
      const owner = anOwner();
      const id = await put(store, owner, "abc");
      assertSameJson(id, "blob_ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
      assertSameJson(await put(store, owner, "abc"), id);
      assertSameJson((await rowOf(store, owner, id))?.size, 3);
    },
  },
  {
    title: "each event that names a blob counts once, however often it names it",
    async run({ store }) {
      const chat = await openTestSession(store);
      const [a, b] = [await put(store, chat.owner, "a"), await put(store, chat.owner, "b")];
      const events = [attach(a, a, b), attach(a)];
      await chat.commit(events);
      await chat.commit(events);
      const { callId, resultId } = { callId: ids.make("call"), resultId: aMessageId() };
      const ended = { callId, resultId, outcome: "ok", output: "…", blobId: b } as const;
      const tool = anEvent("tool.ended", ended, aRunId());
      await chat.commit([tool]);
      assertSameJson((await rowOf(store, chat.owner, a))?.refs, 2);
      assertSameJson((await rowOf(store, chat.owner, b))?.refs, 2);
    },
  },
  {
    title: "a refused commit adds no reference",
    async run({ store }) {
      const chat = await openTestSession(store);
      const id = await put(store, chat.owner, "kept");
      await chat.refuses("revision_conflict", [attach(id)], { expect: { revision: 9 } });
      const missing = `blob_${"f".repeat(64)}` as BlobId;
      await chat.refuses("blob_not_found", [attach(id), attach(missing)]);
      assertSameJson((await rowOf(store, chat.owner, id))?.refs, 0);
    },
  },
  {
    title: "an unreferenced blob is deleted a day after it was last put, and not before",
    async run({ store, advanceClock }) {
      const chat = await openTestSession(store);
      const { owner } = chat;
      const [unreferenced, again, named] = [
        await put(store, owner, "loose"),
        await put(store, owner, "again"),
        await put(store, owner, "named"),
      ];
      await chat.commit([attach(named)]);
      await advanceClock(23 * hourMs);
      await put(store, owner, "again");
      await store.prune(100_000);
      assertSameJson(
        (await store.reads.blob(owner, unreferenced)) === null,
        false,
        "not a day yet",
      );
      await advanceClock(2 * hourMs);
      await store.prune(100_000);
      const left = [unreferenced, again, named].map(
        async (id) => (await store.reads.blob(owner, id)) !== null,
      );
      assertSameJson(await Promise.all(left), [false, true, true]);
      await chat.refuses("blob_not_found", [attach(unreferenced)]);
    },
  },
  {
    title: "a blob that a row of the register keeps is not deleted, until nobody keeps it any more",
    async run({ store, advanceClock }) {
      const [owner, stranger] = [anOwner(), anOwner()];
      const kept = await put(store, owner, "kept");
      const other = await put(store, stranger, "kept");
      const key = `${keptBlobPrefix}${kept}`;
      await store.register.put({ owner, key, value: '["a project"]', expect: 0 });
      const isThere = async (whose: OwnerId) => (await store.reads.blob(whose, kept)) !== null;
      await advanceClock(72 * hourMs);
      await store.prune(100_000);
      assertSameJson(
        [kept === other, await isThere(owner), await isThere(stranger)],
        [true, true, false],
      );
      await store.register.put({ owner, key, value: keptByNobody, expect: 1 });
      await store.prune(100_000);
      assertSameJson(await isThere(owner), false);
    },
  },
  {
    title: "a purge drops its references, but keeps those of rows that a branch reads",
    async run({ store, advanceClock }) {
      const chat = await openTestSession(store);
      const { owner, session } = chat;
      const [kept, freed] = [await put(store, owner, "kept"), await put(store, owner, "freed")];
      const parts = (blobId: BlobId) => [aFile(blobId)];
      const say = async (blobId: BlobId) => {
        const { messageId } = assertPresent((await chat.commit([anInput()])).input);
        return chat.commit([anEvent("message.user", { messageId, parts: parts(blobId) })]);
      };
      const { last } = await say(kept);
      await say(freed);
      const ranges = [aRange(1, last, session), aRange(last + 1)];
      const branch = await openTestSession(
        store,
        { origin: { sessionId: session, seq: last }, ranges },
        owner,
      );
      await chat.commit([anEvent("session.trashed", {})]);
      await store.purge(owner, session);
      assertSameJson((await rowOf(store, owner, kept))?.refs, 1);
      assertSameJson((await rowOf(store, owner, freed))?.refs, 0);
      await advanceClock(25 * hourMs);
      await store.prune(100_000);
      assertSameJson(await rowOf(store, owner, freed), null);
      assertSameJson((await branch.entries()).length, 1);
      assertSameJson((await store.reads.blob(owner, kept)) === null, false);
    },
  },
];
