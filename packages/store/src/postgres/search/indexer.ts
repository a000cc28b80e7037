import type { SessionId } from "@holdfast/protocol";
import { setTimeout as wait } from "node:timers/promises";

import type { ReaderPool } from "../read/reader-pool.ts";
import type { Settings } from "../settings.ts";
import { execute, statement } from "../statement.ts";
import { indexSessions, sessionsPerBatch } from "./index-sessions.ts";

/** What other processes left behind is looked for again after this time. */
const sweepIntervalMs = 60_000;

const unindexedSessions = statement(
  "search_behind",
  `SELECT h.session_id FROM heads h LEFT JOIN search_state st ON st.session_id = h.session_id
    WHERE st.session_id IS NULL OR st.indexed_seq < h.head`,
);
const deletePurged = statement(
  "search_forget_purged",
  `WITH gone AS (
     DELETE FROM search_state st WHERE NOT EXISTS (SELECT 1 FROM heads h WHERE h.session_id = st.session_id)
     RETURNING session_id)
   DELETE FROM search_texts t USING gone WHERE t.session_id = gone.session_id`,
);

/** Brings the index up to the log, off the way of every write and one batch at a time. */
export class Indexer {
  readonly #readers: ReaderPool;
  readonly #indexAfterMs: number;
  readonly #closed = new AbortController();
  readonly #touched = new Set<SessionId>();
  #work: Promise<void> = Promise.resolve();
  #lingering: Promise<void> | undefined;
  #sweptAt = -Infinity;
  #sweeps = 0;

  constructor(readers: ReaderPool, { indexAfterMs }: Pick<Settings, "indexAfterMs">) {
    this.#readers = readers;
    this.#indexAfterMs = indexAfterMs;
  }

  /** Whether what was said before may be missing from the index. */
  get isSweeping(): boolean {
    return this.#sweeps > 0;
  }

  /** These have entries or titles that are new. */
  schedule(sessions: Iterable<SessionId>): void {
    for (const session of sessions) this.#touched.add(session);
    if (this.#touched.size > 0) this.#lingering ??= this.#linger();
  }

  /** Looks for everything that the index lacks, unless someone just did. */
  sweepIfDue(): void {
    if (performance.now() - this.#sweptAt < sweepIntervalMs) return;
    // It is tried again with a later search.
    this.sweep().catch(() => undefined);
  }

  sweep(): Promise<void> {
    this.#sweptAt = performance.now();
    this.#sweeps += 1;
    return this.#enqueue(async () => {
      await this.#readers.transaction((session) => execute(session, deletePurged, []));
      const rows = await this.#readers.rowsWithoutTimeout(unindexedSessions);
      await this.#index(rows.map((row) => String(row["session_id"]) as SessionId));
    }).finally(() => (this.#sweeps -= 1));
  }

  /** Runs `change` when nothing is being indexed. */
  exclusively(change: () => Promise<void>): Promise<void> {
    return this.#enqueue(change);
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#lingering;
    await this.#work;
  }

  async #linger(): Promise<void> {
    const { signal } = this.#closed;
    await wait(this.#indexAfterMs, undefined, { signal }).catch(() => undefined);
    this.#lingering = undefined;
    if (signal.aborted) return;
    const sessions = [...this.#touched];
    this.#touched.clear();
    // What fails now is found by the next sweep.
    await this.#enqueue(() => this.#index(sessions)).catch(() => (this.#sweptAt = -Infinity));
  }

  #enqueue(work: () => Promise<void>): Promise<void> {
    const done = this.#work.then(() => (this.#closed.signal.aborted ? undefined : work()));
    this.#work = done.catch(() => undefined);
    return done;
  }

  async #index(sessions: readonly SessionId[]): Promise<void> {
    const left = [...sessions];
    while (left.length > 0 && !this.#closed.signal.aborted) {
      const batch = left.splice(0, sessionsPerBatch);
      left.push(...(await this.#readers.transaction((session) => indexSessions(session, batch))));
    }
  }
}
