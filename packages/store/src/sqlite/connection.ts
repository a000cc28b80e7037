import { existsSync, statSync } from "node:fs";
import {
  DatabaseSync,
  type SQLInputValue,
  type SQLOutputValue,
  type StatementSync,
} from "node:sqlite";

/** Called with each statement before it runs. Tests use it to fail, block or crash at any point. */
export type Probe = (sql: string, database: DatabaseSync) => void;

const probeKey = Symbol.for("holdfast.sqlite.probe");
const probeRegistry = globalThis as { [probeKey]?: Probe };

/** For a module that is preloaded into the writer thread. */
export function installProbe(probe: Probe): void {
  probeRegistry[probeKey] = probe;
}

export function installedProbe(): Probe | undefined {
  return probeRegistry[probeKey];
}

export type Row = Record<string, SQLOutputValue>;

export type Cells = readonly SQLOutputValue[];

export interface Statement {
  run(...values: SQLInputValue[]): { changes: number | bigint; lastInsertRowid: number | bigint };
  get(...values: SQLInputValue[]): Row | undefined;
  all(...values: SQLInputValue[]): Row[];
}

export interface Connection {
  readonly database: DatabaseSync;
  exec(sql: string): void;
  /**
   * Prepared once per text. Write a limit as `LIMIT ? + 0`: SQLite puts the value of a bare parameter into its plan
   * and replans with every value bound, which costs more than most reads.
   */
  sql(text: string): Statement;
  /** Rows as arrays: cheaper than objects when the columns are known. */
  readonly cells: (text: string, ...values: SQLInputValue[]) => Cells[];
  /** The same for at most `fewRows` rows: faster, but an inline read can't be abandoned between two of them. */
  readonly fewCells: (text: string, ...values: SQLInputValue[]) => Cells[];
  close(): void;
}

export interface ConnectionOptions {
  readonly file: string;
  /** `inline` reads on the event loop's thread and gets a small page cache. */
  readonly access: "write" | "read" | "inline";
  readonly probe?: Probe | undefined;
}

/** See `Connection.fewCells`. */
export const fewRows = 256;

const openTimeoutMs = 5_000;
const cacheKiB = { write: 16_384, read: 4_096, inline: 2_048 };

export function connect({ file, access, probe }: ConnectionOptions): Connection {
  // Even setting a pragma reads the file, and may run into the process that creates it, recovers its log or closes it
  // last.
  const database = new DatabaseSync(file, { timeout: openTimeoutMs, readOnly: access !== "write" });
  // `exec`, not `prepare`: a prepared PRAGMA synchronous takes effect while it is prepared.
  database.exec(`PRAGMA cache_size = -${cacheKiB[access]}`);
  database.exec("PRAGMA temp_store = MEMORY");
  if (access === "write") {
    // P1: FULL syncs the write-ahead log at each commit.
    database.exec("PRAGMA synchronous = FULL");
    database.exec("PRAGMA wal_autocheckpoint = 0");
    if (process.platform === "darwin") {
      database.exec("PRAGMA fullfsync = ON");
      database.exec("PRAGMA checkpoint_fullfsync = ON");
    }
  }
  // No busy timeout from here on: SQLite's own waiting starves some of several processes. Callers retry with jitter.
  database.exec("PRAGMA busy_timeout = 0");
  return probe === undefined ? createConnection(database) : createProbedConnection(database, probe);
}

function createConnection(database: DatabaseSync): Connection {
  const statements = new Map<string, Statement>();
  const arrayStatements = new Map<string, StatementSync>();
  const cells: Connection["cells"] = (text, ...values) => {
    let statement = arrayStatements.get(text);
    if (statement === undefined) {
      statement = database.prepare(text);
      statement.setReturnArrays(true);
      arrayStatements.set(text, statement);
    }
    // `setReturnArrays` doesn't change the method's type.
    return statement.all(...values) as unknown as Cells[];
  };
  return {
    database,
    exec: (text) => database.exec(text),
    sql(text) {
      let statement = statements.get(text);
      if (statement === undefined) {
        statement = database.prepare(text);
        statements.set(text, statement);
      }
      return statement;
    },
    cells,
    fewCells: cells,
    close: () => database.close(),
  };
}

function createProbedConnection(database: DatabaseSync, probe: Probe): Connection {
  const connection = createConnection(database);
  return {
    ...connection,
    exec(text) {
      probe(text, database);
      connection.exec(text);
    },
    sql(text) {
      const statement = connection.sql(text);
      return {
        run(...values) {
          probe(text, database);
          return statement.run(...values);
        },
        get(...values) {
          probe(text, database);
          return statement.get(...values);
        },
        all(...values) {
          probe(text, database);
          return statement.all(...values);
        },
      };
    },
    cells(text, ...values) {
      probe(text, database);
      return connection.cells(text, ...values);
    },
    fewCells(text, ...values) {
      probe(text, database);
      return connection.fewCells(text, ...values);
    },
  };
}

/** Differs for another file with the same name. */
export function fileIdentityOf(file: string): string | undefined {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
}

/**
 * P1: a file that is deleted or replaced while open still takes writes, and nobody ever sees them again. So the
 * writer checks in each transaction that the path still leads to the file it has open.
 */
export class FileIdentity {
  readonly #file: string;
  readonly #identity: string | undefined;

  constructor(file: string) {
    this.#file = file;
    this.#identity = fileIdentityOf(file);
  }

  /** Throws when the database has moved. */
  assertInPlace(): void {
    if (fileIdentityOf(this.#file) === this.#identity) return;
    throw new Error(
      `The database ${this.#file} was moved, deleted or replaced while it is in use. Nothing was written: put it back, or restart.`,
    );
  }

  /** Call inside a transaction: a write-ahead log must exist then, unless somebody deleted it. */
  assertLogInPlace(): void {
    this.assertInPlace();
    // Not `statSync`: reading a file's times makes the kernel update them at the next write, and the sync at the end
    // of the transaction would have to flush that too.
    if (existsSync(`${this.#file}-wal`)) return;
    throw new Error(
      `The write-ahead log of ${this.#file} was deleted while it is in use. Nothing was written: restart, and leave the -wal file alone.`,
    );
  }
}
