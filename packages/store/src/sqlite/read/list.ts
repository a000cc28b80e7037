import type { SQLInputValue } from "node:sqlite";

import type { ListedPage, ListQuery, SessionPage, Shelf } from "@holdfast/engine";
import type { OwnerId, SessionId } from "@holdfast/protocol";

import { bytes, int, text } from "../rows/columns.ts";
import type { Connection } from "../connection.ts";
import { decodeSession, sessionJson, sessionViewJson } from "../rows/sessions.ts";

const shelves: Record<Shelf, number> = { active: 0, archived: 1, trash: 2 };

/** Greater than any id. */
const greatestId = "~";

/** One scan of one index, from the cursor on. Tags have the list's order in their own table. */
function listSql(what: string, { tag, project, pinned }: ListQuery, live = ""): string {
  const place = orderedTable(tag);
  const tables =
    tag === undefined ? "sessions s" : "session_tags t JOIN sessions s ON s.key = t.session_key";
  return `
    SELECT ${what} FROM ${tables} ${live}
     WHERE ${place}.owner_id = ? AND ${place}.shelf = ?
       ${tag === undefined ? "" : "AND t.tag = ?"}
       ${project === undefined ? "" : "AND s.project = ?"}
       ${pinned === undefined ? "" : "AND s.pinned = 1"}
       AND (${place}.sort_at, ${place}.id) < (?, ?)
     ORDER BY ${place}.sort_at DESC, ${place}.id DESC LIMIT ? + 0`;
}

const withLive = "LEFT JOIN live l ON l.session_key = s.key";

function orderedTable(tag: string | undefined): "s" | "t" {
  return tag === undefined ? "s" : "t";
}

function valuesOf(owner: OwnerId, query: ListQuery): SQLInputValue[] {
  const { tag, project, after } = query;
  const shelf = shelves[query.shelf ?? "active"];
  const filters = [tag, project].filter((value) => value !== undefined);
  const [sortAt, id] = [after?.sortAt ?? Number.MAX_SAFE_INTEGER, after?.id ?? greatestId];
  return [owner, shelf, ...filters, sortAt, id];
}

/** One more than asked for, so that the reader knows whether there is a next page. */
export function readList(connection: Connection, owner: OwnerId, query: ListQuery): string[] {
  return connection
    .cells(listSql(sessionJson, query, withLive), ...valuesOf(owner, query), query.limit + 1)
    .map((cells) => text(cells, 0));
}

/**
 * The page in one piece, written by SQLite; then its last row's place, if there is one behind it. The rows are put together as
 * the inner query hands them over, which is in the list's order; sorting them again would cost as much as a third of it.
 */
export function readListJson(connection: Connection, owner: OwnerId, query: ListQuery): ListedPage {
  const values = valuesOf(owner, query);
  const { whole, places } = listSqlFor(query);
  const page = connection.sql(whole).get(...values, query.limit);
  const [last, behind] = connection.cells(places, ...values, 2, query.limit - 1);
  if (page === undefined) throw new Error("A list without a row.");
  const next =
    last === undefined || behind === undefined
      ? null
      : { sortAt: int(last, 0), id: text<SessionId>(last, 1) };
  return { json: bytes(page, "json"), next };
}

interface ListSql {
  readonly whole: string;
  readonly places: string;
}

/** Made once for each of the few kinds of list. */
const listSqlByKind = new Map<string, ListSql>();

function listSqlFor(query: ListQuery): ListSql {
  const { tag, project, pinned } = query;
  const kind = [tag, project, pinned].map((filter) => filter !== undefined).join();
  const known = listSqlByKind.get(kind) ?? createListSql(query);
  listSqlByKind.set(kind, known);
  return known;
}

function createListSql(query: ListQuery): ListSql {
  const place = orderedTable(query.tag);
  const rows = listSql(`${sessionViewJson} AS view`, query, withLive);
  return {
    whole: `SELECT CAST('[' || coalesce(group_concat(view), '') || ']' AS BLOB) AS json FROM (${rows}) page`,
    places: `${listSql(`${place}.sort_at, ${place}.id`, query)} OFFSET ? + 0`,
  };
}

export function decodeList(found: readonly string[], { limit }: ListQuery): SessionPage {
  const sessions = found.slice(0, limit).map((json) => decodeSession(json).row);
  const last = sessions.at(-1);
  const more = found.length > sessions.length && last !== undefined;
  return { sessions, next: more ? { sortAt: last.sortAt, id: last.id } : null };
}
