import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { EventData } from "@holdfast/protocol";
import type { ListCursor, ListQuery, SessionRow } from "@holdfast/engine";
import { anEvent, anOwner, aUserMessage } from "@holdfast/testing/fixtures/factories";
import {
  openTestSession,
  readListPage,
  type TestSession,
} from "@holdfast/testing/fixtures/open-session";
import * as fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";

import { openSqliteStore, type SqliteOptions, type SqliteStore } from "../store.ts";

async function openStore(
  options: Partial<SqliteOptions> = {},
): Promise<SqliteStore & { file: string }> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-list-"));
  const file = join(folder, "store.db");
  const store = await openSqliteStore({ file, ...options });
  onTestFinished(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return Object.assign(store, { file });
}

const step = fc.record({
  change: fc.constantFrom(
    "message",
    "message",
    "message",
    "quiet",
    "archive",
    "pin",
    "tag",
    "trash",
    "new",
  ),
  session: fc.nat(2),
  /** The clock may stand still, and step back. */
  clockMs: fc.constantFrom(0, 1, 1_000, 4_000, -2_000),
});

async function applyChange(chat: TestSession, what: string): Promise<void> {
  const row = await chat.row();
  if (row.trashedAt !== null) {
    await chat.commit([anEvent("session.restored", {})]);
    return;
  }
  const changed = (data: EventData<"session.changed">) =>
    chat.commit([anEvent("session.changed", data)]);
  if (what === "message") await chat.commit([aUserMessage("Hello")]);
  if (what === "quiet") await chat.commit([aUserMessage("Late")], { touch: "quiet" });
  if (what === "archive") await changed({ archived: !row.archived });
  if (what === "pin") await changed({ pinned: !row.pinned });
  if (what === "tag") await changed({ tags: row.tags.length === 0 ? ["a"] : [] });
  if (what === "trash") await chat.commit([anEvent("session.trashed", {})]);
}

type Filter = Omit<ListQuery, "limit">;

const lists: readonly [Filter, (row: SessionRow) => boolean][] = [
  [{}, (row) => !row.archived && row.trashedAt === null],
  [{ shelf: "archived" }, (row) => row.archived && row.trashedAt === null],
  [{ shelf: "trash" }, (row) => row.trashedAt !== null],
  [{ pinned: true }, (row) => row.pinned && !row.archived && row.trashedAt === null],
  [{ tag: "a" }, (row) => row.tags.includes("a") && !row.archived && row.trashedAt === null],
];

function newestFirst(a: SessionRow, b: SessionRow): number {
  return b.sortAt - a.sortAt || (a.id < b.id ? 1 : -1);
}

test("every list has its sessions in the order of their last activity, page by page, after any changes", async () => {
  let clock = 0;
  const store = await openStore({ clockOffset: () => clock });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 15 }), async (steps) => {
      const owner = anOwner();
      const chats = [await openTestSession(store, {}, owner)];
      for (const { change: what, session, clockMs } of steps) {
        clock += clockMs;
        if (what === "new") chats.push(await openTestSession(store, {}, owner));
        else await applyChange(chats[session % chats.length]!, what);
      }
      const rows = await Promise.all(chats.map((chat) => chat.row()));
      for (const [filter, isIn] of lists) {
        const expected = rows.filter(isIn).toSorted(newestFirst);
        for (const limit of [1, 2, 50]) {
          const seen: SessionRow[] = [];
          for (let after: ListCursor | null | undefined; after !== null;) {
            const query = { ...filter, limit, ...(after && { after }) };
            const page = await readListPage(store, owner, query);
            seen.push(...page.sessions);
            expect(seen.length).toBeLessThanOrEqual(expected.length);
            after = page.next;
          }
          expect(seen).toEqual(expected);
        }
      }
    }),
    { numRuns: 200 },
  );
});

const pageBytes = 4_096 + 24;

test("an append to the session at the top of the list writes at most four pages", async () => {
  const store = await openStore({ checkpointPages: Number.MAX_SAFE_INTEGER });
  const owner = anOwner();
  await openTestSession(store, {}, owner);
  const chat = await openTestSession(store, {}, owner);
  await chat.commit([aUserMessage("x".repeat(700))]);
  const before = statSync(`${store.file}-wal`).size;
  for (let turn = 0; turn < 50; turn += 1) await chat.commit([aUserMessage("x".repeat(700))]);
  const pages = (statSync(`${store.file}-wal`).size - before) / pageBytes;
  expect(pages / 50).toBeLessThanOrEqual(4);
});
