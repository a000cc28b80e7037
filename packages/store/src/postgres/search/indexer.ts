import { sleep } from "@holdfast/protocol";
import { type Connection } from "../connection.ts";
import type { ReaderPool } from "../read/reader-pool.ts";
import type { Settings } from "../settings.ts";
import { indexSessions } from "./index-sessions.ts";
import {
  hasRowsUpTo,
  newestPosition,
  putSessionsBack,
  putSessionsLast,
  queueBehind,
  takeSessions,
} from "./queue.ts";

/** How often a search looks for what other hosts have left in the queue. */
const catchUpIntervalMs = 60_000;
/** How long to wait for what another host is indexing. */
const otherHostPollMs = 20;

/** Indexes the next sessions of the queue. All of it or nothing: after a crash they are still queued. */
async function indexBatch(connection: Connection): Promise<{ more: boolean }> {
  // Whatever a crash of the server takes back is queued again, too.
  await connection.query({ text: "SET LOCAL synchronous_commit = off" });
  const taken = await takeSessions(connection);
  const { sessions, any, more } = taken;
  const { unfinished, failed } = await indexTogether(connection, [...sessions.keys()].toSorted());
  if (unfinished.length > 0) await putSessionsBack(connection, unfinished, taken);
  if (failed.length > 0) await putSessionsLast(connection, failed);
  if (any) await queueBehind(connection);
  return { more: more || any || unfinished.length > 0 };
}

/** If one of them cannot be indexed, as when its part of the disk is damaged, the others are all the same. */
async function indexTogether(
  connection: Connection,
  ids: readonly string[],
): Promise<{ readonly unfinished: readonly string[]; readonly failed: readonly string[] }> {
  if (ids.length === 0) return { unfinished: [], failed: [] };
  const index = (some: readonly string[]) =>
    inSavepoint(connection, () => indexSessions(connection, some));
  try {
    return { unfinished: await index(ids), failed: [] };
  } catch (error) {
    const unfinished: string[] = [];
    const failed: string[] = [];
    for (const id of ids)
      await index([id]).then(
        (left) => unfinished.push(...left),
        () => failed.push(id),
      );
    if (failed.length === ids.length) throw error;
    return { unfinished, failed };
  }
}

async function inSavepoint<T>(connection: Connection, work: () => Promise<T>): Promise<T> {
  await connection.query({ text: "SAVEPOINT search" });
  try {
    return await work();
  } catch (error) {
    await connection.query({ text: "ROLLBACK TO SAVEPOINT search" });
    throw error;
  }
}

/**
 * Keeps the index up to date with the log, outside of writes. Triggers queue each session that a write of any host has
 * touched, and all hosts take from the queue.
 */
export class Indexer {
  readonly #pool: ReaderPool;
  readonly #indexAfterMs: number;
  readonly #closed = new AbortController();
  #work: Promise<void> = Promise.resolve();
  #delayed: Promise<void> | undefined;
  #caughtUpAt = -Infinity;
  #catchUps = 0;

  constructor(pool: ReaderPool, { indexAfterMs }: Pick<Settings, "indexAfterMs">) {
    this.#pool = pool;
    this.#indexAfterMs = indexAfterMs;
  }

  /** Whether older entries may be missing from the index. */
  get isCatchingUp(): boolean {
    return this.#catchUps > 0;
  }

  /** Call it when a write may have queued a session. */
  schedule(): void {
    this.#delayed ??= this.#indexAfterDelay();
  }

  /** Indexes what is queued, unless that has just been done. */
  catchUpIfDue(): void {
    if (performance.now() - this.#caughtUpAt < catchUpIntervalMs) return;
    // A later search tries again.
    this.catchUp().catch(() => undefined);
  }

  /** Resolves when everything that is queued now is indexed, by whichever host. */
  catchUp(): Promise<void> {
    this.#caughtUpAt = performance.now();
    this.#catchUps += 1;
    return this.#enqueue(async () => {
      await this.#indexQueue();
      await this.#waitForOthers();
    }).finally(() => (this.#catchUps -= 1));
  }

  /** Runs `change` while this host isn't indexing. */
  exclusively(change: () => Promise<void>): Promise<void> {
    return this.#enqueue(change);
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#delayed;
    await this.#work;
  }

  async #indexAfterDelay(): Promise<void> {
    const { signal } = this.#closed;
    await sleep(this.#indexAfterMs, signal);
    this.#delayed = undefined;
    if (signal.aborted) return;
    // The next search finds what fails now.
    await this.#enqueue(() => this.#indexQueue()).catch(() => (this.#caughtUpAt = -Infinity));
  }

  #enqueue(work: () => Promise<void>): Promise<void> {
    const done = this.#work.then(() => (this.#closed.signal.aborted ? undefined : work()));
    this.#work = done.catch(() => undefined);
    return done;
  }

  async #indexQueue(): Promise<void> {
    let more = true;
    while (more && !this.#closed.signal.aborted)
      ({ more } = await this.#pool.transaction(indexBatch));
  }

  async #waitForOthers(): Promise<void> {
    const { signal } = this.#closed;
    const [row] = await this.#pool.rows(newestPosition, []);
    const newest = Number(row?.["pos"]);
    while (!signal.aborted) {
      const [left] = await this.#pool.rows(hasRowsUpTo, [newest]);
      if (left?.["found"] !== true) return;
      await sleep(otherHostPollMs, signal);
      await this.#indexQueue();
    }
  }
}
