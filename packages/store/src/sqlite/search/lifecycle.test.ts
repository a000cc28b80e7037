import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

import { anEvent, anOwner, aRange, toSeq } from "@holdfast/testing/fixtures/factories";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { expect, test, vi } from "vitest";

import {
  hitsOf,
  openSearchRig,
  sendMessages,
  seqsFound,
} from "@holdfast/testing/stores/search-rig";

const slow = { timeout: 60_000 };

test("opening and closing a store creates no index and starts no search thread", slow, async () => {
  await using rig = await openSearchRig();
  const { store, index, open } = rig;
  await store.close();
  const again = await open();
  await again.reads.sessions(anOwner(), { limit: 1 });
  await again.close();
  expect(existsSync(index)).toBe(false);
});

test("new messages are indexed on their own a moment later", slow, async () => {
  await using rig = await openSearchRig();
  const { chat, index } = rig;
  await sendMessages(chat, "a lonely shrimp");
  await vi.waitFor(() => expect(existsSync(index)).toBe(true), slow);
  const database = new DatabaseSync(index, { readOnly: true });
  try {
    const indexed = (): unknown =>
      database.prepare(`SELECT count(*) AS n FROM postings WHERE postings MATCH '"shr"'`).get();
    await vi.waitFor(() => expect(indexed()).toEqual({ n: 1 }), slow);
  } finally {
    database.close();
  }
});

test("a search finds what was written just before it, without waiting", slow, async () => {
  await using rig = await openSearchRig();
  const { store, chat } = rig;
  await store.search.settled();
  for (let count = 1; count <= 5; count += 1) {
    await sendMessages(chat, `shrimp ${count}`);
    expect(await seqsFound(chat, "shrimp")).toHaveLength(count);
  }
});

test("no commit waits for a locked index, and searches go on", slow, async () => {
  await using rig = await openSearchRig();
  const { store, chat, index } = rig;
  await sendMessages(chat, "one shrimp");
  await store.search.settled();
  const holder = new DatabaseSync(index);
  holder.exec("BEGIN IMMEDIATE");
  await sendMessages(chat, "two shrimps");
  expect(await seqsFound(chat, "shrimp")).toEqual([2]);
  let settled = false;
  const settling = store.search.settled().then(() => (settled = true));
  await sendMessages(chat, "three shrimps");
  expect(await seqsFound(chat, "shrimp")).toEqual([2]);
  expect(settled).toBe(false);
  holder.exec("ROLLBACK");
  holder.close();
  await settling;
  expect(await seqsFound(chat, "shrimp")).toEqual([4, 3, 2]);
});

test("searches return partial results with a flag while the index is built", slow, async () => {
  await using rig = await openSearchRig();
  const { store, chat } = rig;
  const texts = Array.from(
    { length: 1_500 },
    (_, index) => `shrimp ${index} ${"krill ".repeat(20)}`,
  );
  await sendMessages(chat, ...texts);
  await store.search.settled();
  const rebuilt = store.search.rebuild();
  const during = await store.search.search(chat.owner, { text: "shrimp", limit: 5 });
  expect(during).toMatchObject({ status: "ok", indexing: true });
  await rebuilt;
  const after = await store.search.search(chat.owner, { text: "shrimp", limit: 5 });
  expect(after).toMatchObject({ status: "ok", hits: { length: 5 } });
  expect(after).not.toHaveProperty("indexing");
});

test("two handles that index at the same time index everything once", slow, async () => {
  await using rig = await openSearchRig();
  const { store, chat, open, index } = rig;
  const other = await open();
  const otherSession = await openTestSession(other, { title: "yyy" }, chat.owner);
  await Promise.all(
    Array.from({ length: 200 }, async (_, count) => {
      await sendMessages(count % 2 === 0 ? chat : otherSession, `shrimp ${count}`);
      if (count % 20 === 0) await (count % 40 === 0 ? store : other).search.settled();
    }),
  );
  await Promise.all([store.search.settled(), other.search.settled()]);
  for (const session of [chat, otherSession]) {
    expect(await hitsOf(session, { text: "shrimp", limit: 500 })).toHaveLength(200);
  }
  const database = new DatabaseSync(index, { readOnly: true });
  // Two sessions have a title each.
  expect(database.prepare("SELECT count(*) AS n FROM documents").get()).toEqual({ n: 202 });
  database.close();
});

test("a purge removes a session's text from the index", slow, async () => {
  await using rig = await openSearchRig();
  const { store, chat, index } = rig;
  await sendMessages(chat, "a shrimp");
  const purged = await openTestSession(store, { title: "Lobster" }, chat.owner);
  await sendMessages(purged, ...Array.from({ length: 600 }, (_, count) => `lobster ${count}`));
  await store.search.settled();
  await purged.commit([anEvent("session.trashed", {})]);
  await store.purge(purged.owner, purged.session);
  expect(await hitsOf(chat, { text: "lobster" })).toEqual([]);
  const database = new DatabaseSync(index, { readOnly: true });
  try {
    const left = (): unknown =>
      database.prepare(`SELECT count(*) AS n FROM postings WHERE postings MATCH '"lob"'`).get();
    await vi.waitFor(() => expect(left()).toEqual({ n: 0 }), slow);
    expect(database.prepare("SELECT count(*) AS n FROM documents").get()).toEqual({ n: 2 });
  } finally {
    database.close();
  }
  expect(await seqsFound(chat, "shrimp")).toEqual([2]);
});

test(
  "the text that a purged session's branch reads leaves the index with that branch",
  slow,
  async () => {
    await using rig = await openSearchRig();
    const { store, chat, index } = rig;
    const { owner } = chat;
    const origin = await openTestSession(store, {}, owner);
    await sendMessages(origin, "a lobster");
    const seq = toSeq(2);
    const ranges = [aRange(1, seq, origin.session), aRange(seq + 1)];
    const from = { origin: { sessionId: origin.session, seq }, ranges };
    const branch = await openTestSession(store, from, owner);
    await store.search.settled();
    for (const [gone, hits] of [
      [origin, 2],
      [branch, 1],
    ] as const) {
      expect(await hitsOf(chat, { text: "lobster" })).toHaveLength(hits);
      await gone.commit([anEvent("session.trashed", {})]);
      await store.purge(owner, gone.session);
      await store.search.settled();
    }
    const database = new DatabaseSync(index, { readOnly: true });
    try {
      const left = (): unknown =>
        database.prepare(`SELECT count(*) AS n FROM postings WHERE postings MATCH '"lob"'`).get();
      await vi.waitFor(() => expect(left()).toEqual({ n: 0 }), slow);
    } finally {
      database.close();
    }
  },
);

test("an owner of nearly everything doesn't find other owners' messages", slow, async () => {
  await using rig = await openSearchRig();
  const { store, chat } = rig;
  await sendMessages(chat, ...Array.from({ length: 60 }, (_, count) => `shrimp ${count}`));
  const otherSession = await openTestSession(store, { title: "Their shrimp" });
  await sendMessages(otherSession, "their shrimp");
  await store.search.settled();
  expect(await hitsOf(chat, { text: "shrimp", limit: 100 })).toHaveLength(60);
  expect(await hitsOf(chat, { text: "their" })).toEqual([]);
  expect(await hitsOf(otherSession, { text: "shrimp" })).toHaveLength(2);
});

test("a closed store finds nothing and says why", slow, async () => {
  await using rig = await openSearchRig();
  const { store, chat } = rig;
  await store.search.settled();
  await store.close();
  const result = await store.search.search(chat.owner, { text: "a", limit: 1 });
  expect(result).toEqual({ status: "unavailable", message: "The store was closed." });
  await expect(store.search.settled()).rejects.toMatchObject({ code: "store_closed" });
});
