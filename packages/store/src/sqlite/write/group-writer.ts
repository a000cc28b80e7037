import type { Connection } from "../connection.ts";
import { isBusy, failureOf, requiresReconnect, wereBytesRejected } from "../errors.ts";
import type { Failed } from "@holdfast/engine";
import type { WriteCounter } from "../threads/shared-memory.ts";
import { runOperation, type Operation, type OperationResult } from "./operations.ts";
import { SessionCache } from "./session-cache.ts";

export interface LockDeadline {
  /** By the monotonic clock, in milliseconds. */
  readonly deadline: number;
}

const sleepCell = new Int32Array(new SharedArrayBuffer(4));

/**
 * Begins the write transaction, trying again at short random intervals while another process holds the lock.
 * SQLite's own waiting backs off in steps and starves one of several processes; a short jitter does not.
 */
function beginImmediate(connection: Connection, { deadline }: LockDeadline): void {
  for (let tries = 0; ; tries += 1) {
    try {
      connection.sql("BEGIN IMMEDIATE").run();
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() >= deadline) throw error;
    }
    // A holder is usually gone within a sync. This thread has nothing else to do, so it may simply wait that long.
    Atomics.wait(sleepCell, 0, 0, tries < 400 ? 0.02 + Math.random() * 0.2 : 1 + Math.random() * 4);
  }
}

export type Outcome = OperationResult | Failed;

export interface GroupWriterDeps {
  readonly open: () => Connection;
  /** Called inside each transaction; throws when what is open is not the store any more. */
  readonly assertInPlace?: () => void;
  /** Told of each transaction, and of those that find that others have written. */
  readonly writeCounter?: WriteCounter;
  /** How long a group waits for the lock before each of its writes is answered `store_busy`. */
  readonly busyMs: number;
  /** Pages in the write-ahead log that make the writer checkpoint, between two groups. */
  readonly checkpointPages: number;
}

/** How a transaction over several writes ended. */
type Attempt =
  | { readonly status: "committed"; readonly outcomes: readonly Outcome[] }
  /** A write failed; nothing of the group stands. */
  | { readonly status: "rolled-back"; readonly error: unknown }
  /** COMMIT failed, and not because the bytes were not taken: whether the group stands is not known. */
  | { readonly status: "unknown"; readonly error: unknown };

/**
 * Writes groups: one transaction and one sync for all that waited. A write that fails does not take its neighbours
 * along: first all together, then each behind a savepoint, and if the error ends the transaction, each alone.
 */
export class GroupWriter {
  readonly #options: GroupWriterDeps;
  readonly #cache = new SessionCache();
  #connection: Connection | undefined;
  /** What was to be written was not taken: perhaps there is room where the log would begin again. */
  #isDiskFull = false;

  constructor(options: GroupWriterDeps) {
    this.#options = options;
  }

  run(group: readonly Operation[], now: () => number): readonly Outcome[] {
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
   * Passive, and by the writer itself, so that the log cannot outgrow it unseen. A full one takes longer than a hundred
   * commits, and whoever writes next waits for it: a fifth of it is worth doing in a pause, where there is one.
   */
  checkpoint(): "done" | "in a pause" {
    const { checkpointPages } = this.#options;
    const wanted = this.#isDiskFull ? 1 : checkpointPages;
    if (this.#isDiskFull) this.#isDiskFull = false;
    else if (this.#connection === undefined) return "done";
    try {
      const connection = (this.#connection ??= this.#options.open());
      const pages = Number(connection.sql("PRAGMA wal_checkpoint(NOOP)").get()?.["log"] ?? 0);
      if (pages < wanted) return pages < checkpointPages / 5 ? "done" : "in a pause";
      connection.sql("PRAGMA wal_checkpoint(PASSIVE)").get();
    } catch {
      // What was committed is safe in the log; the next group tries again.
    }
    return "done";
  }

  checkpointWhenIdle(): void {
    try {
      this.#connection?.sql("PRAGMA wal_checkpoint(PASSIVE)").get();
    } catch {
      // As above.
    }
  }

  close(): void {
    this.#connection?.close();
    this.#connection = undefined;
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
   * After a failed COMMIT the file is opened anew, and the same writes are sent again: those that stand are
   * found by their ids and answered as the first time. Where that does not succeed the end stays unknown,
   * whatever the second error says: it speaks of the second try alone.
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
      const again = this.#transaction((connection) => this.#runAll(connection, [operation], now()));
      if (again.status === "committed") outcomes.push(...again.outcomes);
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
      beginImmediate(connection, this.#lockWait());
      this.#options.assertInPlace?.();
      if (this.#cache.validate(connection) === "others wrote")
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
      // The log is written during COMMIT, its commit mark last: where that was not taken, nothing stands.
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
        // An error that ended the whole transaction is passed on: then each write is tried alone.
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
    // A file that was opened while it could only be read stays so for this connection, also when its disk is well again.
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
      // It is not used again, closed or not.
    }
  }

  #lockWait(): LockDeadline {
    return { deadline: performance.now() + this.#options.busyMs };
  }
}
