import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

import type { BareDriver, BareLog, BareReads } from "./bench-database.ts";

/** A little more than the thousand pages after which a log is checkpointed. */
export const fullLogBytes = 5 * 1024 * 1024;

/** The minimum that stores a message durably: a table with its session, its number and its text. */
export function openBareSqlite(file: string, log: BareLog): BareDriver {
  const database = new DatabaseSync(file, { timeout: 5_000 });
  database.exec("PRAGMA journal_mode = WAL");
  database.exec("PRAGMA synchronous = FULL");
  database.exec(
    "CREATE TABLE IF NOT EXISTS bare (pos INTEGER PRIMARY KEY, session TEXT, seq INTEGER, data TEXT)",
  );
  const insert = database.prepare("INSERT INTO bare (session, seq, data) VALUES (?, ?, ?)");
  if (log === "full") growLog(database);
  if (log === "kept") database.exec("PRAGMA wal_autocheckpoint = 0");
  let seq = 0;
  return {
    insert: (text) => insert.run("a-session", (seq += 1), text),
    insertGroup(texts) {
      database.exec("BEGIN IMMEDIATE");
      for (const text of texts) insert.run("a-session", (seq += 1), text);
      database.exec("COMMIT");
    },
    walBytes: async () => sizeOf(`${file}-wal`),
    [Symbol.asyncDispose]: async () => database.close(),
  };
}

/**
 * A sync is cheaper if it doesn't extend the file. A log that has once had its full length is overwritten from then
 * on, and that is how everything is measured here.
 */
function growLog(database: DatabaseSync): void {
  database.exec(`
    CREATE TABLE padding AS SELECT zeroblob(${fullLogBytes}) AS bytes;
    PRAGMA wal_checkpoint(PASSIVE);
    DROP TABLE padding`);
}

export function openBareSqliteReads(file: string): BareReads {
  const database = new DatabaseSync(file, { readOnly: true });
  const list = database.prepare(
    `SELECT id, title, preview, message_count, sort_at FROM sessions
      WHERE owner_id = ? AND shelf = 0 ORDER BY sort_at DESC, id DESC LIMIT ?`,
  );
  const tail = database.prepare(
    `SELECT seq, id, type, data FROM events
      WHERE session_key = (SELECT key FROM sessions WHERE id = ?) AND entry = 1 ORDER BY seq DESC LIMIT ?`,
  );
  const page = database.prepare(
    `SELECT seq, id, type, data FROM events
      WHERE session_key = (SELECT key FROM sessions WHERE id = ?) AND seq > ? ORDER BY seq LIMIT ?`,
  );
  return {
    list: (owner, limit) => list.all(owner, limit),
    tail: (session, limit) => tail.all(session, limit).map((row) => parsed(row["data"])),
    whole(session, pageSize) {
      for (let after = 0; ;) {
        const rows = page.all(session, after, pageSize);
        for (const row of rows) parsed(row["data"]);
        if (rows.length < pageSize) return;
        after = Number(rows.at(-1)?.["seq"]);
      }
    },
    [Symbol.asyncDispose]: async () => database.close(),
  };
}

function parsed(data: unknown): unknown {
  return JSON.parse(String(data));
}

export function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
