import type { Connection, FileIdentity } from "../connection.ts";
import type { ThreadServer } from "../threads/thread-server.ts";
import { isBusy, failureOf, requiresReconnect, wereBytesRejected } from "../errors.ts";
import type { Failed, LeaseRow } from "@holdfast/engine";
import type { WriteCounter } from "../read/watch.ts";
import { checkpointPassively, checkpointWholly, readLogState } from "./checkpoint.ts";
import { runOperation, type Operation, type OperationResult } from "./operations.ts";
import type { SessionId } from "@holdfast/protocol";
import { greatestOrderedId } from "../event-ids.ts";
import { type ChainState, decodeRunningHash, hashOfLink } from "../../shared/hash-chain.ts";
import { leaseTable, readSession, type StoredSession, textOrNull } from "../rows.ts";

export interface LockDeadline {
  /** Of the monotonic clock, in milliseconds. */
  readonly deadline: number;
}

const sleepCell = new Int32Array(new SharedArrayBuffer(4));

/**
 * Begins the write transaction, retrying at short random intervals while another process holds the lock. SQLite's own
 * waiting backs off in steps and starves one of several processes; short jitter doesn't.
 */
function beginImmediate(connection: Connection, { deadline }: LockDeadline): void {
  for (let tries = 0; ; tries += 1) {
    try {
      connection.sql("BEGIN IMMEDIATE").run();
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() >= deadline) throw error;
    }
    // The lock is usually released within one sync. This thread has nothing else to do, so blocking is fine.
    Atomics.wait(sleepCell, 0, 0, tries < 400 ? 0.02 + Math.random() * 0.2 : 1 + Math.random() * 4);
  }
}

/**
 * Nobody needs to find a release or a renewal after a power cut: no holder survives one, and the lease of a holder
 * that is dead is free. It is synced with the next commit, as everything in the log before it is.
 */
function needsNoSync({ name }: Operation): boolean {
  return name === "release" || name === "renew";
}

export type Outcome = OperationResult | Failed;

export type WriterRequest =
  | { readonly op: "group"; readonly group: readonly Operation[]; readonly clockOffset: number }
  | { readonly op: "close" };

export interface GroupWriterDeps {
  readonly open: () => Connection;
  /** Each transaction checks that the open file is still the store. */
  readonly identity?: FileIdentity;
  /** Counts each transaction, and those that find a foreign write. */
  readonly writeCounter?: WriteCounter;
  /** How long a group waits for the lock before each of its writes fails with `store_busy`. */
  readonly busyMs: number;
  /** The writer checkpoints between groups once the write-ahead log has this many pages. */
  readonly checkpointPages: number;
}

type Attempt =
  | { readonly status: "committed"; readonly outcomes: readonly Outcome[] }
  /** A write failed; nothing of the group was written. */
  | { readonly status: "rolled-back"; readonly error: unknown }
  /** COMMIT failed, but not because the disk refused the bytes: the group may or may not be committed. */
  | { readonly status: "unknown"; readonly error: unknown };

/**
 * Writes groups: one transaction and one sync for everything that was queued. A failing write doesn't take its
 * neighbours down: first all together, then each in a savepoint, and if the error ends the transaction, each alone.
 */
export class GroupWriter implements ThreadServer<WriterRequest> {
  readonly #options: GroupWriterDeps;
  readonly #cache = new SessionCache();
  #connection: Connection | undefined;
  /** The disk refused bytes. There may still be room in the log once it restarts. */
  #isDiskFull = false;

  constructor(options: GroupWriterDeps) {
    this.#options = options;
  }

  handle(request: WriterRequest): readonly Outcome[] | undefined {
    if (request.op === "close") return undefined;
    return this.run(request.group, () => Date.now() + request.clockOffset);
  }

  run(group: readonly Operation[], now: () => number): readonly Outcome[] {
    if (group.every(needsNoSync)) return this.#withoutSync(() => this.#runGroup(group, now));
    return this.#runGroup(group, now);
  }

  #runGroup(group: readonly Operation[], now: () => number): readonly Outcome[] {
    const first = this.#transaction((connection) => this.#runAll(connection, group, now()));
    if (first.status === "committed") return first.outcomes;
    if (first.status === "unknown") return this.#retryAfterUnknown(group, now, first.error);
    if (isBusy(first.error)) return group.map(() => failureOf(first.error));
    if (group.length === 1) return [failureOf(first.error)];
    const second = this.#transaction((connection) =>
      this.#runEachInSavepoint(connection, group, now()),
    );
    if (second.status === "committed") return second.outcomes;
    if (second.status === "unknown") return this.#retryAfterUnknown(group, now, second.error);
    return this.#runEachAlone(group, now);
  }

  /**
   * The writer itself runs the checkpoints, so that the log can't grow unnoticed. Checkpointing a full log takes longer
   * than a hundred commits, and the next write waits for it, so a log that is a fifth full is checkpointed when idle.
   */
  afterReply(): "done" | "when idle" {
    const { checkpointPages } = this.#options;
    const threshold = this.#isDiskFull ? 1 : checkpointPages;
    if (this.#isDiskFull) this.#isDiskFull = false;
    else if (this.#connection === undefined) return "done";
    try {
      const connection = (this.#connection ??= this.#options.open());
      const { pages } = readLogState(connection);
      if (pages < threshold) return pages < checkpointPages / 5 ? "done" : "when idle";
      checkpointWholly(connection);
    } catch {
      // Committed data is safe in the log; the next group tries again.
    }
    return "done";
  }

  whenIdle(): void {
    try {
      if (this.#connection !== undefined) checkpointPassively(this.#connection);
    } catch {
      // As above.
    }
  }

  close(): void {
    this.#connection?.close();
    this.#connection = undefined;
  }

  #withoutSync(work: () => readonly Outcome[]): readonly Outcome[] {
    try {
      this.#setSync("NORMAL");
      return work();
    } finally {
      this.#setSync("FULL");
    }
  }

  /** A connection whose setting can't be changed isn't used again; a new one syncs. */
  #setSync(level: "NORMAL" | "FULL"): void {
    try {
      this.#connection?.exec(`PRAGMA synchronous = ${level}`);
    } catch {
      this.#reopen();
    }
  }

  #runEachAlone(group: readonly Operation[], now: () => number): readonly Outcome[] {
    const outcomes: Outcome[] = [];
    for (const operation of group) {
      const attempt = this.#transaction((connection) =>
        this.#runAll(connection, [operation], now()),
      );
      if (attempt.status === "committed") outcomes.push(...attempt.outcomes);
      else if (attempt.status === "rolled-back") outcomes.push(failureOf(attempt.error));
      else outcomes.push(...this.#retryAfterUnknown([operation], now, attempt.error));
    }
    return outcomes;
  }

  /**
   * Reopens the file after a failed COMMIT and sends the same writes again: those that were committed are found by
   * their ids and answered as before. If that fails, the result stays unknown whatever the second error says, because
   * that one is about the second attempt only.
   */
  #retryAfterUnknown(
    group: readonly Operation[],
    now: () => number,
    error: unknown,
  ): readonly Outcome[] {
    this.#reopen();
    const message = `${failureOf(error).message} Send it again to find out.`;
    const outcomes: Outcome[] = [];
    for (const operation of group) {
      const retry = this.#transaction((connection) => this.#runAll(connection, [operation], now()));
      if (retry.status === "committed") outcomes.push(...retry.outcomes);
      else {
        this.#reopen();
        outcomes.push({ status: "failed", code: "store_unknown", message, triedAgain: true });
      }
    }
    return outcomes;
  }

  #transaction(work: (connection: Connection) => readonly Outcome[]): Attempt {
    let connection: Connection;
    try {
      connection = this.#connection ??= this.#options.open();
      beginImmediate(connection, this.#lockDeadline());
      this.#options.identity?.assertLogInPlace();
      if (this.#cache.validate(connection) === "foreign write")
        this.#options.writeCounter?.countForeignWrite();
      this.#options.writeCounter?.countTransaction();
    } catch (error) {
      return this.#rollBack(error);
    }
    let outcomes: readonly Outcome[];
    try {
      outcomes = work(connection);
    } catch (error) {
      return this.#rollBack(error);
    }
    try {
      connection.sql("COMMIT").run();
      return { status: "committed", outcomes };
    } catch (error) {
      const rolledBack = this.#rollBack(error);
      // COMMIT writes the log, its commit mark last: if those bytes were refused, nothing was committed.
      return wereBytesRejected(error) ? rolledBack : { status: "unknown", error };
    }
  }

  #runAll(connection: Connection, group: readonly Operation[], now: number): readonly Outcome[] {
    return group.map((operation) => runOperation(connection, this.#cache, operation, now));
  }

  #runEachInSavepoint(
    connection: Connection,
    group: readonly Operation[],
    now: number,
  ): readonly Outcome[] {
    return group.map((operation) => {
      connection.exec("SAVEPOINT one_write");
      try {
        const outcome = runOperation(connection, this.#cache, operation, now);
        connection.exec("RELEASE one_write");
        return outcome;
      } catch (error) {
        // Rethrow an error that ended the whole transaction: then each write is tried alone.
        if (!connection.database.isTransaction) throw error;
        connection.exec("ROLLBACK TO one_write");
        connection.exec("RELEASE one_write");
        this.#cache.clear();
        return failureOf(error);
      }
    });
  }

  #rollBack(error: unknown): Attempt {
    this.#cache.clear();
    try {
      if (this.#connection?.database.isTransaction) this.#connection.exec("ROLLBACK");
    } catch {
      this.#reopen();
    }
    // A connection opened while the file was read-only stays read-only, even when the disk recovers.
    if (requiresReconnect(error)) this.#reopen();
    if (wereBytesRejected(error)) this.#isDiskFull = true;
    return { status: "rolled-back", error };
  }

  #reopen(): void {
    this.#cache.clear();
    const connection = this.#connection;
    this.#connection = undefined;
    try {
      connection?.close();
    } catch {
      // It isn't used again, closed or not.
    }
  }

  #lockDeadline(): LockDeadline {
    return { deadline: performance.now() + this.#options.busyMs };
  }
}

/** A session as the writer remembers it between two groups. */
export interface CachedSession extends StoredSession {
  readonly chain: ChainState;
  readonly leases: readonly LeaseRow[];
  /** Not less than any ordered id in its log. */
  readonly greatestId: string;
}

const maxSessions = 4_096;

/**
 * Rows of recently written sessions, so that a stream of checkpoints reads nothing. Valid until somebody else writes
 * to the file (`data_version`) or a transaction is rolled back.
 */
export class SessionCache {
  readonly #sessions = new Map<SessionId, CachedSession>();
  #dataVersion = -1;

  /** Call inside a transaction, before reading from the cache. */
  validate(connection: Connection): "foreign write" | "unchanged" {
    const version = Number(connection.sql("PRAGMA data_version").get()?.["data_version"]);
    if (version === this.#dataVersion) return "unchanged";
    this.clear();
    this.#dataVersion = version;
    return "foreign write";
  }

  /** Also forgets the data version: each connection counts by itself, so it means nothing to the next one. */
  clear(): void {
    this.#sessions.clear();
    this.#dataVersion = -1;
  }

  get(connection: Connection, id: SessionId): CachedSession | null {
    const cached = this.#sessions.get(id);
    if (cached !== undefined) return cached;
    const stored = readSession(connection, id);
    if (stored === null) return null;
    const leases = connection.sql(leasesBySession).all(stored.key).map(leaseTable.decode);
    const greatestId = greatestOrderedId(connection, stored);
    return this.set({ ...stored, leases, greatestId, chain: readChainState(connection, stored) });
  }

  set(session: CachedSession): CachedSession {
    this.#sessions.delete(session.row.id);
    this.#sessions.set(session.row.id, session);
    if (this.#sessions.size > maxSessions) {
      const [oldest] = this.#sessions.keys();
      if (oldest !== undefined) this.#sessions.delete(oldest);
    }
    return session;
  }

  forget(id: SessionId): void {
    this.#sessions.delete(id);
  }
}

/** Older versions write no link and no hash of the output. */
function readChainState(connection: Connection, { key, row }: StoredSession): ChainState {
  const found = connection.sql(chainBySession).get(key);
  if (found === undefined) throw new Error("A statement without a table returned no row.");
  return {
    last: hashOfLink(textOrNull(found, "link")),
    output: decodeRunningHash(textOrNull(found, "output_hash"), row.openDeltas),
  };
}

const chainBySession = `
  SELECT (SELECT link FROM events WHERE session_key = ?1 ORDER BY seq DESC LIMIT 1) AS link,
         (SELECT output_hash FROM live WHERE session_key = ?1) AS output_hash`;

const leasesBySession = `
  SELECT r.kind, s.id AS session_id, r.fence, r.holder, r.expires_at
    FROM leases r JOIN sessions s ON s.key = r.session_key WHERE r.session_key = ?`;
