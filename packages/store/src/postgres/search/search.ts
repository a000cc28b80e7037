import { z } from "zod";
import { readFile } from "node:fs/promises";
import {
  type SearchHit,
  type SearchQuery,
  type SearchRole,
  type Search,
  StoreFailure,
} from "@holdfast/engine";
import { type OwnerId, seq, seqRange, sessionId } from "@holdfast/protocol";
import { findSnippet, parseTerms, type Term } from "../../shared/search-text/query.ts";
import { foldWithOrigins, snippetText } from "../../shared/search-text/tokens.ts";
import { type Row, statement, type SqlValue } from "../connection.ts";
import type { ReaderPool } from "../read/reader-pool.ts";
import { decodeEventRow } from "../events.ts";
import { searchableTextOf, type Indexer } from "./indexer.ts";
import { SchemaDamaged } from "../errors.ts";

/** The most candidates that one search reads; its cursor continues from there. */
const maxCandidates = 2_000;

const candidateRow = z.object({
  hit_session: sessionId,
  hit_seq: seq,
  hit_at: z.int(),
  role: z.enum(["user", "assistant", "tool", "notice", "title"]),
  session_title: z.string().nullable(),
  session_ranges: z.string(),
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
  let cursor = query.cursor === undefined ? undefined : parseCursor(query.cursor);
  for (let checked = 0; checked < maxCandidates;) {
    const limit = Math.min(maxCandidates, Math.max(50, query.limit * 2));
    const rows = await readCandidates(pool, owner, query, terms, cursor, limit);
    for (const row of rows) {
      const candidate = candidateRow.parse(row);
      const hit = hitOf(candidate, row, terms);
      if (hit !== undefined && hits.length === query.limit)
        return { hits, next: cursorText(cursor) };
      cursor = { at: candidate.hit_at, seq: candidate.hit_seq, session: candidate.hit_session };
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
  readonly session: string;
}

function cursorText(cursor: Cursor | undefined): string | null {
  return cursor === undefined ? null : `${cursor.at}.${cursor.seq}.${cursor.session}`;
}

/** A foreign cursor starts at the beginning. */
function parseCursor(text: string): Cursor | undefined {
  const [, at, seqText, session] = /^(\d{1,15})\.(\d{1,15})\.(\w+)$/.exec(text) ?? [];
  if (at === undefined || seqText === undefined || session === undefined) return undefined;
  return { at: Number(at), seq: Number(seqText), session };
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
  const conditions = [
    "t.owner_id = $1",
    `t.tokens @@ ${bind(tokenQuery(terms))}::tsquery`,
    ...(session === undefined ? [] : [`t.session_id = ${bind(session)}`]),
    ...(role === undefined ? [] : [`t.role = ${bind(role)}`]),
    ...(since === undefined ? [] : [`t.at >= ${bind(since)}`]),
    ...(until === undefined ? [] : [`t.at <= ${bind(until)}`]),
    ...(cursor === undefined
      ? []
      : [
          `(t.at, t.seq, t.session_id) < (${bind(cursor.at)}, ${bind(cursor.seq)}, ${bind(cursor.session)})`,
        ]),
  ];
  const isFiltered = [session, role, since, until, cursor].map((filter) =>
    filter === undefined ? 0 : 1,
  );
  const candidates = statement(
    `search_${isFiltered.join("")}`,
    `SELECT t.session_id AS hit_session, t.seq AS hit_seq, t.at AS hit_at, t.role, s.title AS session_title,
            s.ranges AS session_ranges, e.*
       FROM search_texts t
       JOIN sessions s ON s.id = t.session_id AND s.trashed_at IS NULL
       LEFT JOIN events e ON e.session_id = t.session_id AND e.seq = t.seq AND t.role <> 'title'
      WHERE ${conditions.join(" AND ")}
      ORDER BY t.at DESC, t.seq DESC, t.session_id DESC LIMIT $2`,
  );
  return pool.rows(candidates, values);
}

function hitOf(candidate: Candidate, row: Row, terms: readonly Term[]): SearchHit | undefined {
  if (!isVisible(candidate)) return undefined;
  const text = textOf(candidate.role, candidate.session_title, row);
  const found =
    text === undefined ? undefined : findSnippet(foldWithOrigins(snippetText(text)), terms);
  if (found === undefined) return undefined;
  return {
    session: candidate.hit_session,
    title: candidate.session_title,
    seq: candidate.hit_seq,
    role: candidate.role,
    at: candidate.hit_at,
    ...found,
  };
}

const storedRanges = z.array(seqRange);

/** Cut entries stay in the index, and are found again when they are restored. */
function isVisible({ role, hit_seq, hit_session, session_ranges }: Candidate): boolean {
  if (role === "title") return true;
  return storedRanges
    .parse(JSON.parse(session_ranges))
    .some(
      ({ log = hit_session, from, to }) =>
        log === hit_session && hit_seq >= from && (to === null || hit_seq <= to),
    );
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

export { Indexer } from "./indexer.ts";

const searchMigration = new URL("../migrations/0003-search.sql", import.meta.url);

export function createSearch(pool: ReaderPool, indexer: Indexer): Search {
  /** Drops the tables, damage included, and recreates them with the migration. */
  const recreate = async (): Promise<void> => {
    const sql = await readFile(searchMigration, "utf8");
    await indexer.exclusively(() =>
      pool.transaction(async (connection) => {
        await connection.query({ text: "DROP TABLE IF EXISTS search_texts, search_state" });
        await connection.query({ text: sql });
      }),
    );
    await indexer.sweep();
  };
  let rebuilding: Promise<void> | undefined;
  const rebuild = (): Promise<void> =>
    (rebuilding ??= recreate().finally(() => (rebuilding = undefined)));

  return {
    async search(owner, query) {
      indexer.sweepIfDue();
      try {
        const page = await findHits(pool, owner, query);
        return { status: "ok", ...page, ...(indexer.isSweeping && { indexing: true }) };
      } catch (error) {
        if (!(error instanceof StoreFailure) || error.code === "store_closed") throw error;
        // Rebuild an unreadable index while everything else continues.
        if (error instanceof SchemaDamaged) rebuild().catch(() => undefined);
        return { status: "unavailable", message: error.message };
      }
    },
    settled: () => indexer.sweep(),
    rebuild,
  };
}
