import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import { z } from "zod";
import type { SearchRole } from "@holdfast/engine";
import { decodeEvent, sleep, type StoredEvent, textOf, type SessionId } from "@holdfast/protocol";
import { foldText, snippetText, tokensOf } from "../../shared/search-text/tokens.ts";
import { type Row, type Connection, execute, statement, upsertRows } from "../connection.ts";
import { decodeEventRow, eventColumns } from "../events.ts";
import type { ReaderPool } from "../read/reader-pool.ts";
import type { Settings } from "../settings.ts";

/** The searchable text of an event, if it has any. */
export function searchableTextOf(
  event: StoredEvent,
): { role: SearchRole; text: string } | undefined {
  const decoded = decodeEvent(event);
  if (decoded.kind !== "known") return undefined;
  switch (decoded.event.type) {
    case "message.user":
      return { role: "user", text: textOf(decoded.event.data.parts) };
    case "message.assistant":
      return { role: "assistant", text: textOf(decoded.event.data.parts) };
    case "message.tool":
      return { role: "tool", text: textOf(decoded.event.data.parts) };
    case "notice.added":
    case "notice.changed":
      return { role: "notice", text: decoded.event.data.text };
    default:
      return undefined;
  }
}

/** Limits per transaction. */
const sessionsPerBatch = 20;
const entriesPerBatch = 10;
/** How long other work may wait for the indexer. */
const maxSliceMs = 4;
/** Text after this many characters isn't indexed. */
const maxIndexedChars = 64 * 1024;

/** A purged session's log is kept as far as a branch reads it, without its title. */
const logs = `
  SELECT s.id, s.owner_id, s.title, s.sort_at, h.head
    FROM sessions s JOIN heads h ON h.session_id = s.id
  UNION ALL
  SELECT p.session_id, p.owner_id, NULL, p.at, (SELECT max(upto) FROM branches WHERE log_id = p.session_id)
    FROM purges p WHERE EXISTS (SELECT 1 FROM branches WHERE log_id = p.session_id)`;

const createState = statement(
  "search_open_state",
  `INSERT INTO search_state (session_id, indexed_seq)
   SELECT id, 0 FROM (${logs}) l WHERE id = ANY($1) ORDER BY id ON CONFLICT DO NOTHING`,
);
// In id order, so that two processes that index the same sessions take turns.
const lockState = statement(
  "search_lock_state",
  `SELECT session_id, indexed_seq FROM search_state WHERE session_id = ANY($1) ORDER BY session_id FOR UPDATE`,
);
const readUnindexed = statement(
  "search_read_behind",
  `SELECT l.id AS session_id, l.owner_id, l.title, l.sort_at, l.head, st.title AS indexed_title, e.*
     FROM search_state st
     JOIN (${logs}) l ON l.id = st.session_id
     LEFT JOIN LATERAL (
       SELECT ${eventColumns} FROM events
        WHERE session_id = st.session_id AND entry AND seq > st.indexed_seq AND seq <= l.head
        ORDER BY seq LIMIT ${entriesPerBatch}) e ON true
    WHERE st.session_id = ANY($1) AND l.id = ANY($1)
    ORDER BY l.id, e.seq`,
);
const putTexts = statement(
  "search_put_texts",
  `INSERT INTO search_texts (session_id, seq, role, owner_id, at, tokens)
   SELECT session_id, seq, role, owner_id, at, array_to_tsvector(tokens)
     FROM json_to_recordset($1)
       AS x (session_id text, seq bigint, role text, owner_id text, at bigint, tokens text[])
   ON CONFLICT DO NOTHING`,
);
const dropTitles = statement(
  "search_drop_titles",
  `DELETE FROM search_texts WHERE session_id = ANY($1) AND role = 'title'`,
);
const putState = statement(
  "search_put_state",
  upsertRows("search_state", "session_id", "indexed_seq, title"),
);

const unindexedRow = z.object({
  session_id: z.string(),
  owner_id: z.string(),
  title: z.string().nullable(),
  indexed_title: z.string().nullable(),
  sort_at: z.int(),
  head: z.int(),
  seq: z.int().nullable(),
});

/** Indexes what is new in these sessions and returns those that have more. */
async function indexSessions(
  connection: Connection,
  ids: readonly SessionId[],
): Promise<readonly SessionId[]> {
  await connection.query({ text: "SET LOCAL synchronous_commit = off" });
  await execute(connection, createState, [ids]);
  await execute(connection, lockState, [ids]);
  const { rows } = await execute(connection, readUnindexed, [ids]);
  const bySession = Map.groupBy(rows, (row) => unindexedRow.parse(row).session_id);
  const texts: Row[] = [];
  const states: Row[] = [];
  const retitled: string[] = [];
  const unfinished: SessionId[] = [];
  for (const [id, entries] of bySession) {
    const last = unindexedRow.parse(entries.at(-1));
    const complete = entries.length < entriesPerBatch;
    if (!complete) unfinished.push(id as SessionId);
    states.push({
      session_id: id,
      indexed_seq: complete ? last.head : last.seq,
      title: last.title,
    });
    if (last.title !== last.indexed_title) {
      retitled.push(id);
      if (last.title !== null) texts.push(titleText(last));
    }
    texts.push(...(await textsOf(entries)));
  }
  if (retitled.length > 0) await execute(connection, dropTitles, [retitled]);
  await execute(connection, putTexts, [JSON.stringify(texts)]);
  await execute(connection, putState, [JSON.stringify(states)]);
  return unfinished;
}

function titleText({
  session_id,
  owner_id,
  title,
  sort_at,
  head,
}: z.infer<typeof unindexedRow>): Row {
  const tokens = tokensIn(title ?? "");
  return { session_id, seq: head, role: "title", owner_id, at: sort_at, tokens };
}

/** Yields to the event loop every few milliseconds. */
async function textsOf(rows: readonly Row[]): Promise<Row[]> {
  const texts: Row[] = [];
  let startedAt = performance.now();
  for (const row of rows) {
    const decoded = row["seq"] === null ? undefined : decodeEventRow(row);
    const searchable = decoded?.status === "intact" ? searchableTextOf(decoded.event) : undefined;
    if (decoded?.status !== "intact" || searchable === undefined) continue;
    const { session_id, owner_id } = row;
    const { seq, at } = decoded.event;
    texts.push({
      session_id,
      seq,
      role: searchable.role,
      owner_id,
      at,
      tokens: tokensIn(searchable.text),
    });
    if (performance.now() - startedAt < maxSliceMs) continue;
    await yieldToEventLoop();
    startedAt = performance.now();
  }
  return texts;
}

function tokensIn(text: string): string[] {
  return [...tokensOf(foldText(snippetText(text.slice(0, maxIndexedChars))))];
}

/** How often a sweep looks for what other processes left unindexed. */
const sweepIntervalMs = 60_000;

const unindexedSessions = statement(
  "search_behind",
  `SELECT l.id AS session_id FROM (${logs}) l LEFT JOIN search_state st ON st.session_id = l.id
    WHERE st.session_id IS NULL OR st.indexed_seq < l.head`,
);
// Text of a purged session that a branch still reads stays in the index, and is found in the branch.
const deletePurged = statement(
  "search_forget_purged",
  `WITH purged AS (
     SELECT session_id FROM search_state st
      WHERE NOT EXISTS (SELECT 1 FROM heads h WHERE h.session_id = st.session_id)),
   unread AS (
     DELETE FROM search_state st USING purged p
      WHERE st.session_id = p.session_id
        AND NOT EXISTS (SELECT 1 FROM branches b WHERE b.log_id = p.session_id))
   DELETE FROM search_texts t USING purged p
    WHERE t.session_id = p.session_id
      AND NOT EXISTS (
        SELECT 1 FROM branches b WHERE b.log_id = t.session_id AND b.upto >= t.seq AND t.role <> 'title')`,
);

/** Keeps the index up to date with the log, outside of writes and one batch at a time. */
export class Indexer {
  readonly #pool: ReaderPool;
  readonly #indexAfterMs: number;
  readonly #closed = new AbortController();
  readonly #pending = new Set<SessionId>();
  #queue: Promise<void> = Promise.resolve();
  #delayed: Promise<void> | undefined;
  #sweptAt = -Infinity;
  #sweeps = 0;

  constructor(pool: ReaderPool, { indexAfterMs }: Pick<Settings, "indexAfterMs">) {
    this.#pool = pool;
    this.#indexAfterMs = indexAfterMs;
  }

  /** Whether older entries may be missing from the index. */
  get isSweeping(): boolean {
    return this.#sweeps > 0;
  }

  /** Call with sessions that have new entries or titles. */
  schedule(sessions: Iterable<SessionId>): void {
    for (const session of sessions) this.#pending.add(session);
    if (this.#pending.size > 0) this.#delayed ??= this.#indexAfterDelay();
  }

  /** Indexes everything that is missing, unless a sweep has just run. */
  sweepIfDue(): void {
    if (performance.now() - this.#sweptAt < sweepIntervalMs) return;
    // A later search tries again.
    this.sweep().catch(() => undefined);
  }

  sweep(): Promise<void> {
    this.#sweptAt = performance.now();
    this.#sweeps += 1;
    return this.#enqueue(async () => {
      await this.#pool.transaction((connection) => execute(connection, deletePurged, []));
      const rows = await this.#pool.rowsWithoutTimeout(unindexedSessions);
      await this.#index(rows.map((row) => String(row["session_id"]) as SessionId));
    }).finally(() => (this.#sweeps -= 1));
  }

  /** Runs `change` while nothing is being indexed. */
  exclusively(change: () => Promise<void>): Promise<void> {
    return this.#enqueue(change);
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#delayed;
    await this.#queue;
  }

  async #indexAfterDelay(): Promise<void> {
    const { signal } = this.#closed;
    await sleep(this.#indexAfterMs, signal);
    this.#delayed = undefined;
    if (signal.aborted) return;
    const sessions = [...this.#pending];
    this.#pending.clear();
    // The next sweep finds what fails now.
    await this.#enqueue(() => this.#index(sessions)).catch(() => (this.#sweptAt = -Infinity));
  }

  #enqueue(work: () => Promise<void>): Promise<void> {
    const done = this.#queue.then(() => (this.#closed.signal.aborted ? undefined : work()));
    this.#queue = done.catch(() => undefined);
    return done;
  }

  async #index(sessions: readonly SessionId[]): Promise<void> {
    const remaining = [...sessions];
    while (remaining.length > 0 && !this.#closed.signal.aborted) {
      const batch = remaining.splice(0, sessionsPerBatch);
      remaining.push(
        ...(await this.#pool.transaction((connection) => indexSessions(connection, batch))),
      );
    }
  }
}
