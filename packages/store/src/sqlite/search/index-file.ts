import { readFileSync, rmSync, statSync } from "node:fs";

import { connect, type Connection } from "../connection.ts";
import { createPrivateFile } from "../database-file.ts";

/** "HOLS" in ASCII: marks the file as our index. */
const applicationId = 0x484f_4c53;
/** Bump with every change of what is indexed or how; an index of another version is rebuilt. */
const indexVersion = 1;
const schema = readFileSync(new URL("./schema.sql", import.meta.url), "utf8");

/** The index can't be used as it is. Everything in it comes from the log, so it is deleted. */
export class IndexDamaged extends Error {}

/**
 * The index file beside the store's. Several processes share it, and any of them may find it damaged and replace it,
 * as may a person who deletes it, so each use checks that it is still the same file.
 */
export class IndexFile {
  readonly #path: string;
  #connection: Connection | undefined;
  #identity: string | undefined;

  constructor(storeFile: string) {
    this.#path = `${storeFile}.search`;
  }

  /** Throws a SQLite error or an `IndexDamaged`; see `isDamage`. */
  use(): Connection {
    if (this.#connection !== undefined) {
      if (fileIdentityOf(this.#path) === this.#identity) return this.#connection;
      this.close();
    }
    createPrivateFile(this.#path);
    const connection = connect({ file: this.#path, access: "write" });
    try {
      prepareIndex(connection);
    } catch (error) {
      connection.close();
      throw error;
    }
    this.#identity = fileIdentityOf(this.#path);
    return (this.#connection = connection);
  }

  /** Removes the damaged file, unless another process already has. */
  discard(): void {
    const identity = this.#identity ?? fileIdentityOf(this.#path);
    this.close();
    const lock = connect({ file: `${this.#path}-reset`, access: "write" });
    try {
      // One process at a time; the lock ends with the process, however that ends.
      lock.exec("BEGIN EXCLUSIVE");
      if (fileIdentityOf(this.#path) !== identity) return;
      // The database file goes last: SQLite ignores a log without its file, but not a file with another one's log.
      for (const suffix of ["-wal", "-shm", ""]) rmSync(this.#path + suffix, { force: true });
    } finally {
      lock.close();
    }
  }

  close(): void {
    try {
      this.#connection?.close();
    } finally {
      this.#connection = undefined;
      this.#identity = undefined;
    }
  }
}

function fileIdentityOf(path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat && `${stat.dev}:${stat.ino}`;
}

function prepareIndex(connection: Connection): void {
  connection.sql("PRAGMA journal_mode = WAL").get();
  // An index that lost its last commits in a power cut is merely behind.
  connection.exec("PRAGMA synchronous = NORMAL");
  connection.exec("PRAGMA wal_autocheckpoint = 1000");
  if (pragma(connection, "user_version") === 0) create(connection);
  const version = pragma(connection, "user_version");
  if (version !== indexVersion || pragma(connection, "application_id") !== applicationId) {
    throw new IndexDamaged("The index is of another version.");
  }
  for (const table of ["progress", "documents", "stretches", "titles", "purged", "postings"]) {
    if (!hasTable(connection, table)) throw new IndexDamaged(`The index has no ${table}.`);
  }
}

function hasTable(connection: Connection, name: string): boolean {
  return connection.sql("SELECT 1 FROM sqlite_schema WHERE name = ?").get(name) !== undefined;
}

function create(connection: Connection): void {
  connection.exec("BEGIN IMMEDIATE");
  try {
    const tables = Number(connection.sql("SELECT count(*) AS n FROM sqlite_schema").get()?.["n"]);
    if (tables === 0) {
      connection.exec(schema);
      connection.exec(`PRAGMA application_id = ${applicationId}`);
      connection.exec(`PRAGMA user_version = ${indexVersion}`);
    }
    connection.exec("COMMIT");
  } finally {
    if (connection.database.isTransaction) connection.exec("ROLLBACK");
  }
}

function pragma(connection: Connection, name: "user_version" | "application_id"): number {
  return Number(connection.sql(`PRAGMA ${name}`).get()?.[name]);
}

/** SQLite's codes for an I/O error (such as a truncated file), a damaged file and a file that isn't a database. */
const damageCodes = new Set([10, 11, 26]);

/** Whether an error means that the index is unusable. A lock, a full disk or a rejected statement don't. */
export function isDamage(error: unknown): boolean {
  if (error instanceof IndexDamaged) return true;
  if (!(error instanceof Error) || !("errcode" in error)) return false;
  return typeof error.errcode === "number" && damageCodes.has(error.errcode & 0xff);
}
