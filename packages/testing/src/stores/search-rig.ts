import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { SearchHit, SearchQuery } from "@holdfast/engine";
import { aUserMessage } from "../fixtures/factories.ts";
import { type TestSession, openTestSession } from "../fixtures/open-session.ts";

import { openSqliteStore, type SqliteStore } from "@holdfast/store";

export interface SearchRig extends AsyncDisposable {
  readonly file: string;
  readonly index: string;
  readonly store: SqliteStore;
  readonly chat: TestSession;
  /** Another handle, like another process's. It is closed with the rig. */
  readonly open: () => Promise<SqliteStore>;
}

/** A SQLite store and its index for one test, with a session whose title no test searches for. */
export async function openSearchRig(): Promise<SearchRig> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-search-"));
  const file = join(folder, "store.db");
  const stores: SqliteStore[] = [];
  const open = async (): Promise<SqliteStore> => {
    const store = await openSqliteStore({ file });
    stores.push(store);
    return store;
  };
  const store = await open();
  const chat = await openTestSession(store, { title: "zzz" });
  return {
    file,
    index: `${file}.search`,
    store,
    chat,
    open,
    async [Symbol.asyncDispose]() {
      for (const opened of stores) await opened.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export async function sendMessages(chat: TestSession, ...texts: readonly string[]): Promise<void> {
  await chat.commit(texts.map((text) => aUserMessage(text)));
}

export async function hitsOf(
  { store, owner }: TestSession,
  query: Partial<SearchQuery> & { readonly text: string },
): Promise<readonly SearchHit[]> {
  const result = await store.search.search(owner, { limit: 50, ...query });
  if (result.status !== "ok") throw new Error(result.message);
  return result.hits;
}

export async function seqsFound(chat: TestSession, text: string): Promise<number[]> {
  return (await hitsOf(chat, { text })).map((hit) => hit.seq);
}
