import { readFileSync, rmSync, statSync } from "node:fs";

import { connect, type Connection } from "../connection.ts";
import { createPrivateFile } from "../database-file.ts";

/** "HOLS": marks the file as an index of ours. */
const applicationId = 0x484f_4c53;
/** Counts up with every change of what is indexed or how; an index of another version is made again. */
const indexVersion = 1;
const schema = readFileSync(new URL("./schema.sql", import.meta.url), "utf8");

/** The index cannot be used as it is. It holds nothing that the log does not, so it is thrown away. */
export class IndexDamaged extends Error {}

/**
 * The index's file beside the store's. Several processes share it, and any of them may find it damaged and put a new
 * one in its place, as may a person who deletes it: so each use looks whether it is still the same file.
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

  /** Removes the damaged file, unless another process has done so already. */
  discard(): void {
    const identity = this.#identity ?? fileIdentityOf(this.#path);
    this.close();
    const lock = connect({ file: `${this.#path}-reset`, access: "write" });
    try {
      // One process at a time; the lock goes with the process, however that ends.
      lock.exec("BEGIN EXCLUSIVE");
      if (fileIdentityOf(this.#path) !== identity) return;
      // The file itself goes last: a log without its file is ignored, a file with another one's log is not.
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

/** SQLite's codes for an I/O error (a file that was cut short), a damaged file and a file that is no database. */
const damageCodes = new Set([10, 11, 26]);

/** Whether an error means that the index is of no use. A lock, a full disk or a statement that was refused do not. */
export function isDamage(error: unknown): boolean {
  if (error instanceof IndexDamaged) return true;
  if (!(error instanceof Error) || !("errcode" in error)) return false;
  return typeof error.errcode === "number" && damageCodes.has(error.errcode & 0xff);
}
