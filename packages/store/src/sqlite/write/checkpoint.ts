import type { Connection } from "../connection.ts";

/** How long the rest of a checkpoint may wait for other writers, and make them wait for readers. */
const lockWaitMs = 4;

/** The length of the write-ahead log in pages, and how many of them are in the database already. */
export interface LogState {
  readonly pages: number;
  readonly checkpointed: number;
}

export function readLogState(connection: Connection): LogState {
  return logStateOf(connection.sql("PRAGMA wal_checkpoint(NOOP)").get());
}

/** Copies the log into the database without holding up any other process. */
export function checkpointPassively(connection: Connection): void {
  connection.sql("PRAGMA wal_checkpoint(PASSIVE)").get();
}

/**
 * Copies the whole log into the database, so that the next write starts it over. A passive checkpoint copies most of
 * it while other processes go on writing, but they append to the log meanwhile, and a log with a page that isn't
 * copied keeps growing. The few pages that are left are copied under the write lock.
 */
export function checkpointWholly(connection: Connection): void {
  const row = connection.sql("PRAGMA wal_checkpoint(PASSIVE)").get();
  const { pages, checkpointed } = logStateOf(row);
  // Another process is at it, or somebody reads an older state: waiting for them would block every writer.
  if (row?.["busy"] !== 0 || checkpointed < pages) return;
  const left = readLogState(connection);
  if (left.checkpointed === left.pages) return;
  connection.exec(`PRAGMA busy_timeout = ${lockWaitMs}`);
  try {
    // If the lock isn't free in time, this is one more passive checkpoint.
    connection.sql("PRAGMA wal_checkpoint(FULL)").get();
  } finally {
    connection.exec("PRAGMA busy_timeout = 0");
  }
}

function logStateOf(row: Readonly<Record<string, unknown>> | undefined): LogState {
  return { pages: Number(row?.["log"] ?? 0), checkpointed: Number(row?.["checkpointed"] ?? 0) };
}
