import type { Connection } from "../connection.ts";
import { dropDocument } from "./document-writer.ts";
import type { IndexProgress, StoreHead } from "./progress.ts";
import { sessionToken } from "./scope.ts";
import type { StoreReader } from "./store-reader.ts";

const dropsPerStep = 256;
/** In `purged.after`: everything was looked at, and what is left is what a branch reads. */
const keptForBranches = -1;

export function hasPurgesToFollow(
  index: Connection,
  progress: IndexProgress,
  head: StoreHead,
): boolean {
  return progress.purges < head.purges || nextPurge(index) !== undefined;
}

/** Takes the words of purged sessions out of the index, some at a time. Searches do not show them meanwhile. */
export function followPurges(
  index: Connection,
  store: StoreReader,
  progress: IndexProgress,
): IndexProgress {
  const fresh = store.purgesAfter(progress.purges);
  if (fresh.length > 0) {
    // A branch that is gone may have been the last to read what is left of others: they are looked at again.
    index.sql("UPDATE purged SET after = 0").run();
    for (const { key } of fresh) index.sql("INSERT OR REPLACE INTO purged VALUES (?, 0)").run(key);
  }
  dropBatch(index, store);
  return { ...progress, purges: fresh.at(-1)?.rowid ?? progress.purges };
}

interface PendingPurge {
  readonly key: number;
  readonly after: number;
}

function nextPurge(index: Connection): PendingPurge | undefined {
  const row = index
    .sql("SELECT session_key, after FROM purged WHERE after <> ? LIMIT 1")
    .get(keptForBranches);
  return row && { key: Number(row["session_key"]), after: Number(row["after"]) };
}

const documentsOf = `
  SELECT postings.rowid AS id, d.place FROM postings CROSS JOIN documents d ON d.id = postings.rowid
   WHERE postings MATCH ? AND postings.rowid > ? ORDER BY postings.rowid LIMIT ? + 0`;

function dropBatch(index: Connection, store: StoreReader): void {
  const session = nextPurge(index);
  if (session === undefined) return;
  const { key, after } = session;
  const match = `"${sessionToken(key)}"`;
  const documents = index.sql(documentsOf).all(match, after, dropsPerStep);
  for (const document of documents) {
    const place = Number(document["place"]);
    const isTitle = place % 2 === 1;
    if (isTitle || store.eventIdAt(Math.floor(place / 2)) === undefined) {
      dropDocument(index, Number(document["id"]));
    }
  }
  const last = documents.at(-1)?.["id"];
  if (documents.length === dropsPerStep) {
    index.sql("UPDATE purged SET after = ? WHERE session_key = ?").run(Number(last), key);
    return;
  }
  index.sql("DELETE FROM titles WHERE session_key = ?").run(key);
  if (index.sql(documentsOf).get(match, 0, 1) === undefined) {
    index.sql("DELETE FROM purged WHERE session_key = ?").run(key);
  } else {
    index.sql("UPDATE purged SET after = ? WHERE session_key = ?").run(keptForBranches, key);
  }
}
