import type { Connection } from "../connection.ts";
import { isBusy } from "../errors.ts";

export interface LockDeadline {
  /** By the monotonic clock, in milliseconds. */
  readonly deadline: number;
}

const sleepCell = new Int32Array(new SharedArrayBuffer(4));

/**
 * Begins the write transaction, trying again at short random intervals while another process holds the lock.
 * SQLite's own waiting backs off in steps and starves one of several processes; a short jitter does not.
 */
export function beginImmediate(connection: Connection, { deadline }: LockDeadline): void {
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
