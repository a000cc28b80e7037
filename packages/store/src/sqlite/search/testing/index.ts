import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { SearchHit, SearchQuery } from "@holdfast/engine";
import { aUserMessage, type OpenSession, openSession } from "@holdfast/engine/testing";
import { onTestFinished } from "vitest";

import { openSqliteStore } from "../../index.ts";
import type { SqliteStore } from "../../store.ts";

export interface SearchRig {
  readonly file: string;
  readonly index: string;
  readonly store: SqliteStore;
  readonly chat: OpenSession;
  /** Another handle, as another process would have it. It is closed with the test. */
  readonly open: () => Promise<SqliteStore>;
}

/** A store of its own for one test, with a session whose title no test looks for. */
export async function openSearchRig(): Promise<SearchRig> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-search-"));
  const file = join(folder, "store.db");
  const stores: SqliteStore[] = [];
  onTestFinished(async () => {
    for (const store of stores) await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const open = async (): Promise<SqliteStore> => {
    const store = await openSqliteStore({ file });
    stores.push(store);
    return store;
  };
  const store = await open();
  const chat = await openSession(store, { title: "zzz" });
  return { file, index: `${file}.search`, store, chat, open };
}

export async function say(chat: OpenSession, ...texts: readonly string[]): Promise<void> {
  await chat.commit(texts.map((text) => aUserMessage(text)));
}

export async function hitsOf(
  { store, owner }: OpenSession,
  query: Partial<SearchQuery> & { readonly text: string },
): Promise<readonly SearchHit[]> {
  const result = await store.search.search(owner, { limit: 50, ...query });
  if (result.status !== "ok") throw new Error(result.message);
  return result.hits;
}

export async function seqsOf(chat: OpenSession, text: string): Promise<number[]> {
  return (await hitsOf(chat, { text })).map((hit) => hit.seq);
}
