import type { Connection } from "../connection.ts";

export interface DocumentTimes {
  readonly first: number;
  readonly last: number;
  readonly minAt: number;
  readonly maxAt: number;
}

const stretchLength = 512;

/** Adds documents to the newest stretch, or begins another when that is long enough. */
export function recordTimes(index: Connection, { first, last, minAt, maxAt }: DocumentTimes): void {
  const newest = index
    .sql("SELECT first_doc FROM stretches ORDER BY first_doc DESC LIMIT 1")
    .get()?.["first_doc"];
  if (newest === undefined || first - Number(newest) >= stretchLength) {
    index.sql("INSERT INTO stretches VALUES (?, ?, ?, ?)").run(first, last, minAt, maxAt);
    return;
  }
  index
    .sql(
      `UPDATE stretches SET last_doc = ?, min_at = min(min_at, ?), max_at = max(max_at, ?)
        WHERE first_doc = ?`,
    )
    .run(last, minAt, maxAt, newest);
}

export interface DocRange {
  readonly from: number;
  readonly to: number;
}

/** All documents of a time are in this range; not all in it are of that time. */
export function docsWithin(index: Connection, since: number, until: number): DocRange | undefined {
  const row = index
    .sql(
      `SELECT min(first_doc) AS "from", max(last_doc) AS "to" FROM stretches
        WHERE max_at >= ? AND min_at <= ?`,
    )
    .get(since, until);
  if (row === undefined || row["from"] === null) return undefined;
  return { from: Number(row["from"]), to: Number(row["to"]) };
}
