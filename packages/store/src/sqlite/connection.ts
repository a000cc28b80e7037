import {
  DatabaseSync,
  type SQLInputValue,
  type SQLOutputValue,
  type StatementSync,
} from "node:sqlite";

/** Called before each statement with its text. Tests use it to fail, to wait or to die at any point. */
export type Probe = (sql: string, database: DatabaseSync) => void;

const probeKey = Symbol.for("holdfast.sqlite.probe");
const probeRegistry = globalThis as { [probeKey]?: Probe };

/** To be called by a module that is preloaded into the writer's thread. */
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
   * Prepared once for each text. A limit is written `LIMIT ? + 0`: SQLite takes the value of a bare parameter there into its
   * plan, and so makes another one with each value that is bound, which costs more than most of what is read.
   */
  sql(text: string): Statement;
  /** Rows as lists of values: cheaper than objects where the columns are known. */
  cells(text: string, ...values: SQLInputValue[]): Cells[];
  close(): void;
}

export interface ConnectionOptions {
  readonly file: string;
  /** A glance is a read that keeps little for the next one. */
  readonly access: "write" | "read" | "glance";
  readonly probe?: Probe | undefined;
}

const openTimeoutMs = 5_000;
const cacheKiB = { write: 16_384, read: 32_768, glance: 8_192 };

export function connect({ file, access, probe }: ConnectionOptions): Connection {
  // Even a setting reads the file, and meets whoever makes it, recovers its log or is the last to close it.
  const database = new DatabaseSync(file, { timeout: openTimeoutMs, readOnly: access !== "write" });
  // `exec` and not `prepare`: a prepared PRAGMA synchronous acts when it is prepared.
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
  // From here on no busy timeout: waiting inside SQLite starves some of several processes. Who waits does so outside, with jitter.
  database.exec("PRAGMA busy_timeout = 0");
  return probe === undefined ? createConnection(database) : createProbedConnection(database, probe);
}

function createConnection(database: DatabaseSync): Connection {
  const statements = new Map<string, Statement>();
  const lists = new Map<string, StatementSync>();
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
    cells(text, ...values) {
      let statement = lists.get(text);
      if (statement === undefined) {
        statement = database.prepare(text);
        statement.setReturnArrays(true);
        lists.set(text, statement);
      }
      // What `setReturnArrays` changes is not in the method's type.
      return statement.all(...values) as unknown as Cells[];
    },
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
  };
}
