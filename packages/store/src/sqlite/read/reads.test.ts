import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Seq } from "@holdfast/protocol";
import { aDelta, aNotice, aSettledMessage } from "@holdfast/testing/fixtures/factories";
import { type TestSession, openTestSession } from "@holdfast/testing/fixtures/open-session";
import { afterAll, beforeAll, expect, test } from "vitest";

import { fewRows } from "../connection.ts";
import { openSqliteStore, type SqliteStore } from "../store.ts";
import { InlineReader } from "./reads.ts";

const folder = mkdtempSync(join(tmpdir(), "holdfast-inline-"));
const file = join(folder, "store.db");
let store: SqliteStore;
let reader: InlineReader;
beforeAll(async () => {
  store = await openSqliteStore({ file });
  reader = new InlineReader(file);
});
afterAll(async () => {
  reader.close();
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

async function sessionWith(texts: readonly string[]): Promise<TestSession> {
  const chat = await openTestSession(store);
  for (const text of texts) await chat.commit([aNotice(text)]);
  return chat;
}

function tailOf({ owner, session }: TestSession) {
  return reader.read("entries", [owner, session, { limit: 50 }]);
}

test("small reads run inline, and large ones are left to the thread", async () => {
  const small = await sessionWith(["a", "b"]);
  const large = await sessionWith(["x".repeat(200_000), "y".repeat(200_000)]);
  expect(tailOf(small)?.value?.rows).toHaveLength(2);
  expect(tailOf(large)).toBeUndefined();
  // An abandoned read leaves the next one its full budget and no open transaction.
  expect(tailOf(small)?.value?.rows).toHaveLength(2);
});

test("the store answers the same, whether it reads inline or in the thread", async () => {
  const texts = ["x".repeat(200_000), "y".repeat(200_000)];
  const chat = await sessionWith(texts);
  const { entries } = (await chat.snapshot({ limit: 50 })).entries;
  expect(entries.map(({ data }) => data["text"])).toEqual(texts);
  await chat.commit([aNotice("z")]);
  expect((await chat.snapshot({ limit: 1 })).entries.entries[0]?.data["text"]).toBe("z");
});

test("a long page of the log is whole, although settled output has left gaps between its numbers", async () => {
  const chat = await openTestSession(store);
  const { runId, under } = await chat.startRun();
  await chat.commit([aDelta(runId, "Well "), aDelta(runId, "said.")], { under });
  await chat.commit([aSettledMessage(runId, "Well said.", [[5, 6]])], { under });
  await chat.commit(Array.from({ length: 2 * fewRows }, () => aNotice("a")));
  const { head } = await chat.row();
  const seqs = (await chat.events({ limit: 1_000 })).map(({ seq }) => seq);
  const all = Array.from({ length: head }, (_, index) => index + 1);
  expect(seqs).toEqual(all.filter((seq) => seq !== 5 && seq !== 6));
});

test("a page of the log is read inline as well, unless it is large", async () => {
  const { owner, session } = await sessionWith(["a", "x".repeat(200_000), "y".repeat(200_000)]);
  const page = (limit: number) =>
    reader.read("events", [owner, session, { after: 1 as Seq, limit }]);
  expect(page(1)?.value).toMatchObject({ rows: [expect.arrayContaining([2])], more: true });
  expect(page(3)).toBeUndefined();
});

test("reading a long log inline lets the event loop go on in between", async () => {
  const chat = await sessionWith(Array.from({ length: 12 }, () => "x".repeat(50_000)));
  let turns = 0;
  const count = () => {
    turns += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  for (let after = 0; after < 12; after += 1)
    expect(await chat.events({ after: after as Seq, limit: 1 })).toHaveLength(1);
  clearImmediate(next);
  expect(turns).toBeGreaterThan(0);
});

test("work queries are cached until somebody writes", async () => {
  const chat = await sessionWith(["a"]);
  const first = reader.read("queuedWork", [10])?.value;
  expect(reader.read("queuedWork", [10])?.value).toBe(first);
  expect(reader.read("queuedWork", [9])?.value).not.toBe(first);
  await chat.commit([aNotice("b")]);
  expect(reader.read("queuedWork", [10])?.value).not.toBe(first);
});
