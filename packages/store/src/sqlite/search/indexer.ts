import { z } from "zod";
import { readFileSync, rmSync } from "node:fs";
import { type Connection, connect, fileIdentityOf, type Row } from "../connection.ts";
import {
  dropDocument,
  sessionToken,
  DocumentWriter,
  canSetTitle,
  knownEvent,
  titleFrom,
  searchableTextOf,
  type StoreReader,
} from "./documents.ts";
import { ownerId, sessionId, titleSource } from "@holdfast/protocol";
import { isBusy } from "../errors.ts";
import { createPrivateFile } from "../database-file.ts";

/** "HOLS" in ASCII: marks the file as our index. */
const applicationId = 0x484f_4c53;
/** Bump with every change of what is indexed or how; an index of another version is rebuilt. */
const indexVersion = 1;
const schema = readFileSync(new URL("./schema.sql", import.meta.url), "utf8");

/** The index can't be used as it is. Everything in it comes from the log, so it is deleted. */
class IndexDamaged extends Error {}

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

const progressShape = z.object({
  pos: z.int(),
  event_id: z.string().nullable(),
  goal: z.int(),
  next_doc: z.int(),
  purges: z.int(),
});

export type IndexProgress = z.infer<typeof progressShape>;

export interface StoreHead {
  readonly pos: number;
  readonly purges: number;
}

export function readProgress(index: Connection): IndexProgress | undefined {
  const row = index.sql("SELECT pos, event_id, goal, next_doc, purges FROM progress").get();
  return row === undefined ? undefined : progressShape.parse(row);
}

/** Empties the index and sets the current head as its goal. */
function beginProgress(index: Connection, { pos: goal, purges }: StoreHead): IndexProgress {
  index.exec("INSERT INTO postings (postings) VALUES ('delete-all')");
  for (const table of ["documents", "stretches", "titles", "purged", "progress"]) {
    index.exec(`DELETE FROM ${table}`);
  }
  // Sessions purged before now aren't in what is indexed from now on.
  index.sql("INSERT INTO progress VALUES (0, NULL, ?, 1, ?)").run(goal, purges);
  return { pos: 0, event_id: null, goal, next_doc: 1, purges };
}

function writeProgress(index: Connection, progress: IndexProgress): void {
  const { pos, event_id, goal, next_doc, purges } = progress;
  index
    .sql("UPDATE progress SET pos = ?, event_id = ?, goal = ?, next_doc = ?, purges = ?")
    .run(pos, event_id, goal, next_doc, purges);
}

const maxDropsPerStep = 256;
/** In `purged.after`: everything was checked, and a branch reads what is left. */
const keptForBranches = -1;

function hasPurgesToFollow(index: Connection, progress: IndexProgress, head: StoreHead): boolean {
  return progress.purges < head.purges || nextPurge(index) !== undefined;
}

/** Removes purged sessions from the index, a batch at a time. Searches already hide them. */
function followPurges(
  index: Connection,
  store: StoreReader,
  progress: IndexProgress,
): IndexProgress {
  const newPurges = store.purgesAfter(progress.purges);
  if (newPurges.length > 0) {
    // A purged branch may have been the last reader of other purged logs, so check them again.
    index.sql("UPDATE purged SET after = 0").run();
    for (const { key } of newPurges)
      index.sql("INSERT OR REPLACE INTO purged VALUES (?, 0)").run(key);
  }
  dropBatch(index, store);
  return { ...progress, purges: newPurges.at(-1)?.rowid ?? progress.purges };
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
  const documents = index.sql(documentsOf).all(match, after, maxDropsPerStep);
  for (const document of documents) {
    const place = Number(document["place"]);
    const isTitle = place % 2 === 1;
    if (isTitle || store.eventIdAt(Math.floor(place / 2)) === undefined) {
      dropDocument(index, Number(document["id"]));
    }
  }
  const last = documents.at(-1)?.["id"];
  if (documents.length === maxDropsPerStep) {
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

/** The result of a step. `busy`: another process is indexing. */
export interface IndexStep {
  readonly status: "current" | "more" | "busy";
  /** The positions of the index and of the log. */
  readonly pos: number;
  readonly head: number;
}

/** A step holds the index's lock for some tens of milliseconds, so that other processes can search and take turns. */
const stepBounds = { rows: 256, bytes: 1_000_000, positions: 20_000 };
const stepMs = 25;

/**
 * Follows the log from the index's position. Each step is one transaction over documents and progress, so the index
 * is right after a crash at any point, and processes that take turns never index anything twice.
 */
export class Indexer {
  readonly #store: StoreReader;
  readonly #file: IndexFile;

  constructor(store: StoreReader, file: IndexFile) {
    this.#store = store;
    this.#file = file;
  }

  /** Whether there is work, without doing it. */
  check(): IndexStep {
    const index = this.#file.use();
    const head = this.#store.head();
    const progress = readProgress(index);
    const current =
      progress?.pos === head.pos &&
      this.#isSameStore(progress, head.pos) &&
      !hasPurgesToFollow(index, progress, head);
    return { status: current ? "current" : "more", pos: progress?.pos ?? 0, head: head.pos };
  }

  step(): IndexStep {
    const checked = this.check();
    if (checked.status === "current") return checked;
    const index = this.#file.use();
    const pos = withIndexLock(index, () => this.#runStep(index));
    return pos === undefined ? { ...checked, status: "busy" } : { ...checked, pos };
  }

  /** Empties the index; the next steps fill it again. */
  restart(): IndexStep {
    const index = this.#file.use();
    const head = this.#store.head();
    const progress = withIndexLock(index, () => beginProgress(index, head));
    return { status: progress === undefined ? "busy" : "more", pos: 0, head: head.pos };
  }

  #runStep(index: Connection): number {
    const head = this.#store.head();
    const progress = readProgress(index) ?? beginProgress(index, head);
    if (!this.#isSameStore(progress, head.pos))
      throw new IndexDamaged("The index belongs to another store.");
    const reached = progress.pos < head.pos ? this.#indexRange(index, progress) : progress;
    writeProgress(index, followPurges(index, this.#store, reached));
    return reached.pos;
  }

  /** A store restored from a backup has other events at the positions that the index has seen. */
  #isSameStore({ pos, event_id }: IndexProgress, head: number): boolean {
    const storedId = event_id === null ? undefined : this.#store.eventIdAt(pos);
    return pos <= head && (storedId === undefined || storedId === event_id);
  }

  #indexRange(index: Connection, progress: IndexProgress): IndexProgress {
    const deadline = performance.now() + stepMs;
    const { rows, upTo } = this.#store.following(progress.pos, stepBounds);
    const documents = new DocumentWriter(index, progress.next_doc);
    let pos = upTo;
    for (const row of rows) {
      this.#indexRow(index, documents, row);
      if (performance.now() < deadline) continue;
      pos = Number(row["pos"]);
      break;
    }
    documents.finish();
    const event_id = this.#store.eventIdAt(pos) ?? null;
    return { ...progress, pos, event_id, next_doc: documents.next };
  }

  #indexRow(index: Connection, documents: DocumentWriter, row: Row): void {
    const key = Number(row["session_key"]);
    const owner = row["owner_id"] ?? this.#purgedOwner(index, key);
    if (owner === undefined) return;
    const title = index.sql("SELECT source, doc FROM titles WHERE session_key = ?").get(key);
    const source = title === undefined ? null : titleSource.parse(title["source"]);
    const setsTitle = row["session_id"] !== null && canSetTitle(String(row["type"]), source);
    if (row["type"] === "input.accepted" && !setsTitle) return;
    const event = knownEvent(row);
    if (event === undefined) return;
    const origin = { pos: Number(row["pos"]), at: event.at, key, owner: String(owner) };
    const searchable = searchableTextOf(event);
    if (searchable !== undefined && searchable.text !== "") documents.add(origin, searchable);
    if (!setsTitle) return;
    const session = { id: sessionId.parse(row["session_id"]), owner: ownerId.parse(owner) };
    const newTitle = titleFrom(event, session, source);
    if (newTitle === undefined) return;
    if (title !== undefined) dropDocument(index, Number(title["doc"]));
    const doc = documents.add(origin, { role: "title", text: newTitle.title });
    index.sql("INSERT OR REPLACE INTO titles VALUES (?, ?, ?)").run(key, newTitle.source, doc);
  }

  /** Only rows that a branch reads are left of a purged session. They go when the branch is purged. */
  #purgedOwner(index: Connection, key: number): string | undefined {
    index.sql("INSERT OR IGNORE INTO purged VALUES (?, 0)").run(key);
    return this.#store.purgedOwner(key);
  }
}

/** `undefined` when another process holds the lock, which it does for one step at most. */
function withIndexLock<T>(index: Connection, work: () => T): T | undefined {
  try {
    index.exec("BEGIN IMMEDIATE");
  } catch (error) {
    if (isBusy(error)) return undefined;
    throw error;
  }
  try {
    const result = work();
    index.exec("COMMIT");
    return result;
  } finally {
    if (index.database.isTransaction) index.exec("ROLLBACK");
  }
}
