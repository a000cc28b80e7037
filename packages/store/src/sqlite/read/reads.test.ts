import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { aNotice } from "@holdfast/testing/fixtures/factories";
import { type TestSession, openTestSession } from "@holdfast/testing/fixtures/open-session";
import { afterAll, beforeAll, expect, test } from "vitest";

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

test("work queries are cached until somebody writes", async () => {
  const chat = await sessionWith(["a"]);
  const first = reader.read("queuedWork", [10])?.value;
  expect(reader.read("queuedWork", [10])?.value).toBe(first);
  expect(reader.read("queuedWork", [9])?.value).not.toBe(first);
  await chat.commit([aNotice("b")]);
  expect(reader.read("queuedWork", [10])?.value).not.toBe(first);
});
