import { z } from "zod";
import { readFile } from "node:fs/promises";
import {
  type SearchHit,
  type SearchQuery,
  type SearchRole,
  type Search,
  StoreFailure,
} from "@holdfast/engine";
import { type OwnerId, seq, type SessionId, sessionId } from "@holdfast/protocol";
import { findSnippet, parseTerms, type Term } from "../../shared/search-text/query.ts";
import { foldWithOrigins, snippetText } from "../../shared/search-text/tokens.ts";
import { events } from "../../schema/tables.ts";
import { type Row, statement, type SqlValue } from "../connection.ts";
import type { ReaderPool } from "../read/reader-pool.ts";
import { decodeEventRow } from "../events.ts";
import { columnsOf } from "../rows.ts";
import { HiddenVersions } from "./hidden-versions.ts";
import { searchableTextOf } from "./index-sessions.ts";
import type { Indexer } from "./indexer.ts";
import { queueAll } from "./queue.ts";
import { SchemaDamaged } from "../errors.ts";

/** The most candidates that one search reads; its cursor continues from there. */
const maxCandidates = 2_000;

const candidateRow = z.object({
  hit_log: sessionId,
  hit_seq: seq,
  hit_at: z.int(),
  role: z.enum(["user", "assistant", "tool", "notice", "title"]),
  /** The session that shows it; `null` if none does. */
  hit_session: sessionId.nullable(),
  session_title: z.string().nullable(),
});
type Candidate = z.infer<typeof candidateRow>;

/** Newest first: finds candidates by token, then checks their text. */
async function findHits(
  pool: ReaderPool,
  owner: OwnerId,
  query: SearchQuery,
): Promise<{ hits: SearchHit[]; next: string | null }> {
  const terms = parseTerms(query.text);
  if (terms.length === 0) return { hits: [], next: null };
  const hits: SearchHit[] = [];
  const versions = new HiddenVersions(pool, owner, query.session);
  let cursor = query.cursor === undefined ? undefined : parseCursor(query.cursor);
  for (let checked = 0; checked < maxCandidates;) {
    const limit = Math.min(maxCandidates, Math.max(50, query.limit * 2));
    const rows = await readCandidates(pool, owner, query, terms, cursor, limit);
    const candidates = rows.map((row) => ({ row, candidate: candidateRow.parse(row) }));
    if (query.onlyInView !== true)
      await versions.read(candidates.flatMap(({ candidate }) => logOfUnshown(candidate)));
    for (const { row, candidate } of candidates) {
      const hit = hitOf(candidate, versions, row, terms);
      if (hit !== undefined && hits.length === query.limit)
        return { hits, next: cursorText(cursor) };
      cursor = { at: candidate.hit_at, seq: candidate.hit_seq, log: candidate.hit_log };
      if (hit !== undefined) hits.push(hit);
    }
    if (rows.length < limit) return { hits, next: null };
    checked += rows.length;
  }
  return { hits, next: cursorText(cursor) };
}

interface Cursor {
  readonly at: number;
  readonly seq: number;
  readonly log: string;
}

function cursorText(cursor: Cursor | undefined): string | null {
  return cursor === undefined ? null : `${cursor.at}.${cursor.seq}.${cursor.log}`;
}

/** A foreign cursor starts at the beginning. */
function parseCursor(text: string): Cursor | undefined {
  const [, at, seqText, log] = /^(\d{1,15})\.(\d{1,15})\.(\w+)$/.exec(text) ?? [];
  if (at === undefined || seqText === undefined || log === undefined) return undefined;
  return { at: Number(at), seq: Number(seqText), log };
}

function readCandidates(
  pool: ReaderPool,
  owner: OwnerId,
  { session, role, since, until }: SearchQuery,
  terms: readonly Term[],
  cursor: Cursor | undefined,
  limit: number,
): Promise<Row[]> {
  const values: SqlValue[] = [owner, limit];
  const bind = (filter: SqlValue): string => `$${values.push(filter)}`;
  const only = session === undefined ? undefined : bind(session);
  const conditions = [
    "owner_id = $1",
    `tokens @@ ${bind(tokenQuery(terms))}::tsquery`,
    ...(only === undefined ? [] : [`session_id = ANY(${logsOf(only)})`]),
    ...(role === undefined ? [] : [`role = ${bind(role)}`]),
    ...(since === undefined ? [] : [`at >= ${bind(since)}`]),
    ...(until === undefined ? [] : [`at <= ${bind(until)}`]),
    ...(cursor === undefined
      ? []
      : [`(at, seq, session_id) < (${bind(cursor.at)}, ${bind(cursor.seq)}, ${bind(cursor.log)})`]),
  ];
  const isFiltered = [session, role, since, until, cursor].map((filter) =>
    filter === undefined ? 0 : 1,
  );
  const candidates = statement(
    `search_${isFiltered.join("")}`,
    `SELECT t.session_id AS hit_log, t.seq AS hit_seq, t.at AS hit_at, t.role,
            s.id AS hit_session, s.title AS session_title, ${columnsOf(events, "e")}
       FROM (SELECT session_id, seq, at, role FROM search_texts WHERE ${conditions.join(" AND ")}
              ORDER BY at DESC, seq DESC, session_id DESC LIMIT $2) t
       LEFT JOIN LATERAL (${sessionShowing(only)}) s ON true
       LEFT JOIN events e ON e.session_id = t.session_id AND e.seq = t.seq AND t.role <> 'title'
      ORDER BY t.at DESC, t.seq DESC, t.session_id DESC`,
  );
  return pool.rows(candidates, values);
}

/** The session's own log, and those it reads as a branch. */
const logsOf = (session: string) =>
  `ARRAY(SELECT ${session} UNION ALL SELECT log_id FROM branches WHERE session_id = ${session})`;

/**
 * The session that shows a text: the one whose log contains it, or else the newest branch that reads it. Cut entries
 * stay in the index, and are found again once they are restored.
 */
const sessionShowing = (only: string | undefined) => `
  SELECT x.id, x.title FROM (
    SELECT id, title, ranges, trashed_at FROM sessions WHERE id = t.session_id
    UNION ALL
    SELECT b_s.id, b_s.title, b_s.ranges, b_s.trashed_at
      FROM branches b JOIN sessions b_s ON b_s.id = b.session_id
     WHERE b.log_id = t.session_id AND b.upto >= t.seq AND t.role <> 'title') x
   WHERE x.trashed_at IS NULL ${only === undefined ? "" : `AND x.id = ${only}`}
     AND (t.role = 'title' OR EXISTS (
       SELECT 1 FROM json_to_recordset(x.ranges::json) AS r ("from" bigint, "to" bigint, log text)
        WHERE coalesce(r.log, x.id) = t.session_id AND t.seq BETWEEN r."from" AND coalesce(r."to", t.seq)))
   ORDER BY x.id = t.session_id DESC, x.id DESC LIMIT 1`;

/** The log of an entry that no session shows now. */
function logOfUnshown({ hit_session, hit_log, role }: Candidate): readonly SessionId[] {
  return hit_session === null && role !== "title" ? [hit_log] : [];
}

function hitOf(
  candidate: Candidate,
  versions: HiddenVersions,
  row: Row,
  terms: readonly Term[],
): SearchHit | undefined {
  const { hit_session: shownIn, session_title, hit_log, hit_seq } = candidate;
  const showing =
    shownIn === null
      ? versions.find(hit_log, hit_seq)
      : { session: shownIn, title: session_title, alternative: undefined };
  if (showing === null) return undefined;
  const { session, title, alternative } = showing;
  const text = textOf(candidate.role, title, row);
  const found =
    text === undefined ? undefined : findSnippet(foldWithOrigins(snippetText(text)), terms);
  if (found === undefined) return undefined;
  return {
    session,
    title,
    seq: hit_seq,
    role: candidate.role,
    at: candidate.hit_at,
    ...(alternative !== undefined && { alternative }),
    ...found,
  };
}

function textOf(role: SearchRole, title: string | null, row: Row): string | undefined {
  if (role === "title") return title ?? undefined;
  const decoded = decodeEventRow(row);
  return decoded.status === "intact" ? searchableTextOf(decoded.event)?.text : undefined;
}

/** Every token of every term, in `tsquery` syntax. */
function tokenQuery(terms: readonly Term[]): string {
  const tokens = new Set(terms.flatMap((term) => term.tokens));
  return [...tokens].map((token) => `'${token.replaceAll(/['\\]/g, "$&$&")}'`).join(" & ");
}

// The queue is no part of the index: writes need it.
const searchMigration = new URL("../migrations/0003-search.sql", import.meta.url);

export function createSearch(pool: ReaderPool, indexer: Indexer): Search {
  /** Drops the tables, damage included, and recreates them with the migration. */
  const recreate = async (): Promise<void> => {
    const sql = await readFile(searchMigration, "utf8");
    await indexer.exclusively(() =>
      pool.transaction(async (connection) => {
        await connection.query({ text: "DROP TABLE IF EXISTS search_texts, search_state" });
        await connection.query({ text: sql });
        await queueAll(connection);
      }),
    );
    await indexer.catchUp();
  };
  let rebuilding: Promise<void> | undefined;
  const rebuild = (): Promise<void> =>
    (rebuilding ??= recreate().finally(() => (rebuilding = undefined)));

  return {
    async search(owner, query) {
      indexer.catchUpIfDue();
      try {
        const page = await findHits(pool, owner, query);
        return { status: "ok", ...page, ...(indexer.isCatchingUp && { indexing: true }) };
      } catch (error) {
        if (!(error instanceof StoreFailure) || error.code === "store_closed") throw error;
        // Rebuild an unreadable index while everything else continues.
        if (error instanceof SchemaDamaged) rebuild().catch(() => undefined);
        return { status: "unavailable", message: error.message };
      }
    },
    settled: () => indexer.catchUp(),
    rebuild,
  };
}
