import { aCut, anEvent, aRange, aUserMessage } from "@holdfast/testing/fixtures/factories";
import { type TestSession, openTestSession } from "@holdfast/testing/fixtures/open-session";
import { Client } from "pg";
import { expect, onTestFinished, test, vi } from "vitest";

import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { openPostgresStore } from "../open.ts";

const slow = { timeout: 40_000 };

async function openNodes() {
  const database = await createDatabase();
  const nodes = [
    await openPostgresStore({ url: database.url }),
    await openPostgresStore({ url: database.url }),
  ] as const;
  const admin = new Client({ connectionString: database.url });
  await admin.connect();
  onTestFinished(async () => {
    for (const node of nodes) await node.close();
    await admin.end();
    await database[Symbol.asyncDispose]();
  });
  return { nodes, admin };
}

async function seqsFound(chat: TestSession, text: string): Promise<number[]> {
  const result = await chat.store.search.search(chat.owner, { text, limit: 1_000 });
  if (result.status !== "ok") throw new Error(result.message);
  return result.hits.map((hit) => hit.seq);
}

test("every node finds a new message on its own a moment later", async () => {
  const { nodes } = await openNodes();
  const chat = await openTestSession(nodes[0], { title: "zzz" });
  await chat.commit([aUserMessage("a lonely barnacle")]);
  for (const node of nodes) {
    await vi.waitFor(
      async () => expect(await seqsFound(chat.through(node), "barnac")).toEqual([2]),
      slow,
    );
  }
});

test("a search that misses its index rebuilds it, and no write fails", async () => {
  const { nodes, admin } = await openNodes();
  // Otherwise it may rebuild the index before the search misses it.
  await nodes[1].close();
  const chat = await openTestSession(nodes[0], { title: "zzz" });
  await chat.commit([aUserMessage("one kelp")]);
  await nodes[0].search.settled();
  await admin.query("DROP TABLE search_texts, search_state");
  const lost = await nodes[0].search.search(chat.owner, { text: "kelp", limit: 10 });
  expect(lost.status).toBe("unavailable");
  await vi.waitFor(async () => expect(await seqsFound(chat, "kelp")).toEqual([2]), slow);
  await admin.query("DROP TABLE search_texts, search_state");
  await chat.commit([aUserMessage("two kelps")]);
  await vi.waitFor(async () => expect(await seqsFound(chat, "kelp")).toEqual([3, 2]), slow);
  await chat.commit([anEvent("session.trashed", {})]);
  expect(await nodes[0].purge(chat.owner, chat.session)).toMatchObject({ status: "purged" });
});

test("two nodes that rebuild the index at once build one, without anything of a purged session", async () => {
  const { nodes, admin } = await openNodes();
  const kept = await openTestSession(nodes[0], { title: "zzz" });
  const purged = await openTestSession(nodes[0], { title: "yyy" }, kept.owner);
  for (let count = 0; count < 35; count += 1) {
    await kept.commit([aUserMessage(`sardine ${count}`)]);
    await purged.commit([aUserMessage(`sardine ${count}`)]);
  }
  await nodes[0].search.settled();
  await purged.commit([anEvent("session.trashed", {})]);
  await nodes[0].purge(purged.owner, purged.session);
  await Promise.all(nodes.map((node) => node.search.settled()));
  const { rows } = await admin.query(
    "SELECT DISTINCT session_id FROM search_texts UNION SELECT session_id FROM search_state",
  );
  expect(rows).toEqual([{ session_id: kept.session }]);
  await Promise.all(nodes.map((node) => node.search.rebuild()));
  expect(await seqsFound(kept, "sardine")).toEqual(
    Array.from({ length: 35 }, (_, index) => 36 - index),
  );
});

test("an empty filter is not the same as no filter", async () => {
  const { nodes } = await openNodes();
  const chat = await openTestSession(nodes[0], { title: "zzz", tags: ["t"], project: "p" });
  await chat.commit([aUserMessage("plankton")]);
  await nodes[0].search.settled();
  const { search, reads } = nodes[0];
  for (const since of [undefined, 0, undefined]) {
    const query = { text: "plankton", limit: 5, ...(since !== undefined && { since }) };
    expect(await search.search(chat.owner, query)).toMatchObject({ hits: [{ seq: 2 }] });
  }
  for (const tag of [undefined, "", undefined, "t"]) {
    const page = await reads.sessions(chat.owner, { limit: 5, ...(tag !== undefined && { tag }) });
    expect(page.sessions.length).toBe(tag === "" ? 0 : 1);
  }
});

test("a cut entry isn't found until it is restored", async () => {
  const { nodes } = await openNodes();
  const chat = await openTestSession(nodes[0], { title: "zzz" });
  await chat.commit([aUserMessage("one limpet")]);
  await chat.commit([aUserMessage("two limpets")]);
  await nodes[0].search.settled();
  await chat.commit([aCut([aRange(1, 2), aRange(4)])]);
  expect(await seqsFound(chat, "limpet")).toEqual([2]);
  const ranges = [aRange(1)];
  await chat.commit([anEvent("history.restored", { ranges, messageCount: 2, preview: "" })]);
  expect(await seqsFound(chat, "limpet")).toEqual([3, 2]);
});
