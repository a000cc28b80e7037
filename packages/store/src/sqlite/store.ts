import { once } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Worker } from "node:worker_threads";

import {
  answerRetentionMs,
  type Audit,
  type BlobObjects,
  type Commit,
  type CommitResult,
  type Failed,
  type Leases,
  type PurgeResult,
  type PutBlobResult,
  type Reads,
  type Register,
  type Requests,
  type Search,
  type Store,
  StoreFailure,
  type WatchPace,
  type Work,
} from "@holdfast/engine/ports";
import type { OwnerId, SessionId } from "@holdfast/protocol";

import { processIdentity } from "../identity.ts";
import { blobIdOf } from "../schema/tables.ts";
import { GroupQueue, type Pace } from "../shared/group-queue.ts";
import { createAudit } from "./read/audit.ts";
import { checkFileSystem, createPrivateFile } from "./database-file.ts";
import { type InlineQuery, InlineReader, createReads } from "./read/reads.ts";
import type { Queries, ReaderRequest } from "./read/queries.ts";
import { openSearch, type SqliteSearch } from "./search/client.ts";
import { StoreThreads } from "./threads/thread-client.ts";
import { WatchList } from "./read/watch.ts";
import type { Operation, Operations } from "./write/operations.ts";
import type { Outcome } from "./write/group-writer.ts";

export interface SqliteOptions {
  readonly file: string;
  /** How long a delta waits for others to share its sync. */
  readonly tickMs?: number;
  readonly maxGroup?: number;
  readonly busyMs?: number;
  readonly checkpointPages?: number;
  /** When the reader thread starts: a process that rarely reads may leave it to its first query. */
  readonly reader?: "now" | "when asked";
  /** Called once the threads are starting, so that the caller can work in parallel. */
  readonly onThreads?: () => void;
  /** Added to the clock; tests move time with it. */
  readonly clockOffset?: () => number;
  /** A module that calls `installProbe`; tests use it to fail or crash at a chosen statement. */
  readonly probeModule?: string;
  /** Called with every failed write. */
  readonly onWriteFailed?: (failure: Failed) => void;
  /** Called with rows that can't be decoded and are left out of a read. */
  readonly onDamage?: (damage: {
    readonly id: string;
    readonly seq: number;
    readonly problem: string;
  }) => void;
}

/** Inline reads in a row would monopolize the event loop, so they wait for its next turn after this much. */
const inlineCharsPerTurn = 256 * 1024;
/** Every read counts at least this much. */
const minInlineChars = 4 * 1024;

/** How long after the reader thread has died its watches move to a new one. */
const rewatchDelayMs = 1_000;

const backupScript = new URL("./threads/backup.ts", import.meta.url);

/** Opens the file, creating it if needed. Rejects with an `OpenFailure` that says what to do. */
export async function openSqliteStore(options: SqliteOptions): Promise<SqliteStore> {
  await checkFileSystem(options.file);
  createPrivateFile(options.file);
  const store = new SqliteStore(options);
  try {
    await store.start();
  } catch (error) {
    await store.close();
    throw error;
  }
  return store;
}

export class SqliteStore implements Store {
  readonly kind = "sqlite";
  readonly identity = processIdentity;
  readonly reads: Reads;
  readonly leases: Leases;
  readonly work: Work;
  readonly requests: Requests;
  readonly register: Register;
  readonly audit: Audit;
  readonly blobObjects: BlobObjects;
  readonly search: Search;
  readonly #options: SqliteOptions;
  readonly #threads: StoreThreads;
  readonly #inlineReader: InlineReader;
  readonly #watchList = new WatchList();
  readonly #queue: GroupQueue<Operation, Outcome>;
  readonly #search: SqliteSearch;
  #closed = false;
  /** What was read inline in this turn of the event loop. */
  #inlineChars = 0;

  constructor(options: SqliteOptions) {
    this.#options = options;
    this.#threads = new StoreThreads({
      file: options.file,
      busyMs: options.busyMs ?? 10_000,
      checkpointPages: options.checkpointPages ?? 1_000,
      probeModule: options.probeModule,
      onWake: ({ sessions }) => this.#watchList.wake(sessions),
      onReaderLost: () => setTimeout(() => this.#watchList.announce(), rewatchDelayMs).unref(),
    });
    this.#inlineReader = new InlineReader(options.file);
    this.#watchList.onChange = (sessions, pollMs) => this.#updateReaderWatch(sessions, pollMs);
    this.#queue = new GroupQueue({
      run: (group) => this.#writeAndReport(group),
      tickMs: options.tickMs ?? 25,
      maxGroup: options.maxGroup ?? 512,
    });
    this.reads = createReads(
      {
        queryInThread: (name, args) => this.#queryInThread(name, args),
        queryInline: (name, args) => this.#queryInline(name, args),
      },
      (damage) => options.onDamage?.(damage),
    );
    this.leases = {
      acquire: (request) => this.#write("acquire", request),
      renew: (leases, ttlMs) => this.#write("renew", { leases, ttlMs }),
      release: (lease) => this.#write("release", lease),
      read: async (kind, session) => this.#queryInline("lease", [kind, session, await this.now()]),
      expired: async (kind, limit) =>
        this.#queryInline("expiredLeases", [kind, limit, await this.now()]),
    };
    this.work = {
      queued: (limit) => this.#queryInline("queuedWork", [limit]),
      live: (limit) => this.#queryInline("liveWork", [limit]),
      untitled: (limit) => this.#queryInline("untitledWork", [limit]),
      unremembered: async (limit, restingSince) =>
        this.#queryInline("unrememberedWork", [limit, restingSince, await this.now()]),
      undelivered: async (limit) => this.#queryInline("undelivered", [limit, await this.now()]),
      expiredApprovals: async (limit) =>
        this.#queryInline("expiredApprovals", [limit, await this.now()]),
    };
    this.requests = {
      find: async (owner, key) =>
        this.#queryInline("request", [owner, key, (await this.now()) - answerRetentionMs]),
      keep: (request) => this.#write("keepRequest", request),
    };
    this.register = {
      read: (...args) => this.#queryInline("registered", args),
      list: (...args) => this.#queryInline("registeredUnder", args),
      put: (change) => this.#write("putRegister", change),
    };
    this.audit = createAudit({
      query: (name, args) => this.#queryInThread(name, args),
      write: (name, request) => this.#write(name, request),
    });
    this.blobObjects = {
      read: (...args) => this.#queryInThread("blob", args),
      begin: (object) => this.#write("beginObject", object),
      finish: (object) => this.#write("finishObject", object),
      takeBack: (owner, id, bytes) => this.#write("takeBackBlob", { owner, id, bytes }),
      list: (query) => this.#queryInThread("placedBlobs", [query]),
      garbage: (limit) => this.#write("findGarbage", { limit }),
      forget: (keys) => this.#write("forgetObjects", { keys }),
      unrecorded: (keys) => this.#queryInThread("unrecordedObjects", [keys]),
      totals: () => this.#queryInThread("blobTotals", []),
    };
    this.#search = openSearch(options.file);
    this.search = this.#search;
  }

  async commit(commit: Commit): Promise<CommitResult> {
    const result = await this.#write("commit", commit, commit.pace);
    if (result.status === "committed") {
      this.#watchList.wake([commit.session]);
      this.#search.onCommit();
    }
    return result;
  }

  putBlob(owner: OwnerId, bytes: Uint8Array, mediaType: string): Promise<PutBlobResult> {
    return this.#write("putBlob", { owner, id: blobIdOf(bytes), mediaType, bytes });
  }

  async purge(owner: OwnerId, session: SessionId): Promise<PurgeResult> {
    const result = await this.#write("purge", { owner, session });
    if (result.status === "purged") this.#search.onCommit();
    return result;
  }

  prune(limit: number): Promise<{ readonly status: "pruned"; readonly rows: number } | Failed> {
    return this.#write("prune", { limit });
  }

  watch(session: SessionId, pace: WatchPace, wake: () => void): () => void {
    return this.#watchList.add(session, pace, wake);
  }

  async now(): Promise<number> {
    return Date.now() + (this.#options.clockOffset?.() ?? 0);
  }

  /** Copies the whole store into a new file while it is in use. */
  async backup(to: string): Promise<void> {
    const worker = new Worker(backupScript, { workerData: { file: this.#options.file, to } });
    await once(worker, "exit");
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#watchList.clear();
    await this.#search.close();
    await this.#queue.drain();
    this.#inlineReader.close();
    await this.#threads.close();
  }

  async #writeAndReport(group: readonly Operation[]): Promise<readonly Outcome[]> {
    const outcomes = await this.#writeGroup(group);
    for (const outcome of outcomes)
      if (outcome.status === "failed") this.#options.onWriteFailed?.(outcome);
    return outcomes;
  }

  async #writeGroup(group: readonly Operation[]): Promise<readonly Outcome[]> {
    const clockOffset = this.#options.clockOffset?.() ?? 0;
    try {
      return (await this.#threads.writer.ask({
        op: "group",
        group,
        clockOffset,
      })) as readonly Outcome[];
    } catch (error) {
      const { name, message } = error instanceof Error ? error : new Error(String(error));
      if (name !== "DataCloneError")
        return group.map(() => ({ status: "failed", code: "store_unknown", message }));
      // Something in the group can't be cloned, and nothing of it was sent. Send each write alone, so that the others
      // succeed.
      if (group.length === 1) return [{ status: "failed", code: "store_unavailable", message }];
      return (await Promise.all(group.map((operation) => this.#writeGroup([operation])))).flat();
    }
  }

  #write<Name extends keyof Operations>(
    name: Name,
    request: Operations[Name]["request"],
    pace: Pace = "now",
  ): Promise<Operations[Name]["result"] | Failed> {
    if (this.#closed) {
      return Promise.resolve({
        status: "failed",
        code: "store_closed",
        message: "The store was closed.",
      });
    }
    // The thread answers each operation with its own result type.
    const operation = { name, request } as Operation;
    return this.#queue.submit(operation, pace);
  }

  /** Reads inline if the result is small, otherwise in the reader thread. */
  async #queryInline<Name extends InlineQuery>(
    name: Name,
    args: Parameters<Queries[Name]>,
  ): Promise<ReturnType<Queries[Name]>> {
    if (this.#inlineChars >= inlineCharsPerTurn) {
      this.#inlineChars = 0;
      await nextTurn();
    }
    if (this.#closed) throw new StoreFailure("store_closed", "The store was closed.");
    const read = this.#inlineReader.read(name, args);
    if (this.#inlineChars === 0) setImmediate(() => (this.#inlineChars = 0));
    this.#inlineChars += Math.max(this.#inlineReader.charsRead, minInlineChars);
    return read === undefined ? this.#queryInThread(name, args) : read.value;
  }

  #queryInThread<Name extends keyof Queries>(
    name: Name,
    args: Parameters<Queries[Name]>,
  ): Promise<ReturnType<Queries[Name]>> {
    if (this.#closed)
      return Promise.reject(new StoreFailure("store_closed", "The store was closed."));
    const request = { op: "query", name, args } as ReaderRequest;
    return this.#threads.reader.ask(request) as Promise<ReturnType<Queries[Name]>>;
  }

  /** Resolves when queries no longer wait for a thread to start. */
  async start(): Promise<void> {
    const { writer } = this.#threads;
    const reader = this.#options.reader === "when asked" ? undefined : this.#threads.reader;
    this.#options.onThreads?.();
    await Promise.all([writer.ready, reader?.ready]);
  }

  /** A reader that was never started needs no message that nobody watches. */
  #updateReaderWatch(sessions: readonly string[], pollMs: number | null): void {
    if (this.#closed || (pollMs === null && !this.#threads.hasReader)) return;
    void this.#threads.reader.ask({ op: "watch", sessions, pollMs }).catch(() => {});
  }
}
