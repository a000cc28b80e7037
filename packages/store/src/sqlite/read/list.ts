import type { SQLInputValue } from "node:sqlite";

import type { ListedPage, ListQuery, SessionPage } from "@holdfast/engine";
import type { OwnerId, SessionId } from "@holdfast/protocol";

import { shelves } from "../../schema/tables.ts";
import {
  bytes,
  int,
  text,
  decodeSession,
  sessionJson,
  sessionViewJson,
  sortAtOfSession,
  topOfList,
} from "../rows.ts";
import type { Connection } from "../connection.ts";

const greatestId = "~";

/** One scan of one index, starting at the cursor. The tags table has its own copy of the list's order. */
function listSql(columns: string, query: ListQuery, live = ""): string {
  const { tag, project, workspace, pinned } = query;
  const table = orderedTable(tag);
  const tables =
    tag === undefined ? "sessions s" : "session_tags t JOIN sessions s ON s.key = t.session_key";
  return `
    SELECT ${columns} FROM ${tables} ${live}
     WHERE ${table}.owner_id = ? AND ${table}.shelf = ?
       ${tag === undefined ? "" : "AND t.tag = ?"}
       ${project === undefined ? "" : "AND s.project = ?"}
       ${workspace === undefined ? "" : "AND s.workspace = ?"}
       ${pinned === undefined ? "" : "AND s.pinned = 1"}
       AND (${table}.sort_at, ${table}.id) < (?, ?)
     ORDER BY ${table}.sort_at DESC, ${table}.id DESC LIMIT ? + 0`;
}

const withLive = "LEFT JOIN live l ON l.session_key = s.key";

function orderedTable(tag: string | undefined): "s" | "t" {
  return tag === undefined ? "s" : "t";
}

function valuesOf(connection: Connection, owner: OwnerId, query: ListQuery): SQLInputValue[] {
  const { tag, project, workspace, after } = query;
  const shelf = shelves[query.shelf ?? "active"];
  const filters = [tag, project, workspace].filter((value) => value !== undefined);
  const { sortAt, id } = after
    ? placeInList(connection, owner, shelf, after)
    : { sortAt: Number.MAX_SAFE_INTEGER, id: greatestId };
  return [owner, shelf, ...filters, sortAt, id];
}

const topPlace = topOfList(`s.sort_at, s.id, ${sortAtOfSession} AS active_at`);

/** The session at the top may have been active after its place in the list says: see `write/session-row.ts`. */
function placeInList(
  connection: Connection,
  owner: OwnerId,
  shelf: number,
  after: NonNullable<ListQuery["after"]>,
): { readonly sortAt: number; readonly id: string } {
  const top = connection.sql(topPlace).get(owner, shelf);
  if (top === undefined) return after;
  const [sortAt, id, activeAt] = [int(top, "sort_at"), text(top, "id"), int(top, "active_at")];
  const isAtTop = after.sortAt < activeAt || (after.sortAt === activeAt && after.id <= id);
  return isAtTop && after.sortAt > sortAt ? { sortAt, id } : after;
}

/** One more than the limit, so that the caller knows whether there is a next page. */
export function readList(connection: Connection, owner: OwnerId, query: ListQuery): string[] {
  return connection
    .cells(
      listSql(sessionJson, query, withLive),
      ...valuesOf(connection, owner, query),
      query.limit + 1,
    )
    .map((cells) => text(cells, 0));
}

/**
 * The page as one JSON text built by SQLite, and the cursor of its last row if more follow. The rows are concatenated
 * in the order of the inner query, which is the list's; sorting them again would cost a third more.
 */
export function readListJson(connection: Connection, owner: OwnerId, query: ListQuery): ListedPage {
  const values = valuesOf(connection, owner, query);
  const { page, positions } = listSqlFor(query);
  const pageRow = connection.sql(page).get(...values, query.limit);
  const [last, following] = connection.cells(positions, ...values, 2, query.limit - 1);
  if (pageRow === undefined) throw new Error("A list without a row.");
  const next =
    last === undefined || following === undefined
      ? null
      : { sortAt: int(last, 0), id: text<SessionId>(last, 1) };
  return { json: bytes(pageRow, "json"), next };
}

interface ListSql {
  readonly page: string;
  readonly positions: string;
}

/** Built once for each kind of list. */
const listSqlByKind = new Map<string, ListSql>();

function listSqlFor(query: ListQuery): ListSql {
  const { tag, project, workspace, pinned } = query;
  const kind = [tag, project, workspace, pinned].map((filter) => filter !== undefined).join();
  const sql = listSqlByKind.get(kind) ?? createListSql(query);
  listSqlByKind.set(kind, sql);
  return sql;
}

function createListSql(query: ListQuery): ListSql {
  const table = orderedTable(query.tag);
  const rows = listSql(`${sessionViewJson} AS view`, query, withLive);
  return {
    page: `SELECT CAST('[' || coalesce(group_concat(view), '') || ']' AS BLOB) AS json FROM (${rows}) page`,
    positions: `${listSql(`${sortAtOfSession}, ${table}.id`, query)} OFFSET ? + 0`,
  };
}

export function decodeList(rows: readonly string[], { limit }: ListQuery): SessionPage {
  const sessions = rows.slice(0, limit).map((json) => decodeSession(json).row);
  const last = sessions.at(-1);
  const more = rows.length > sessions.length && last !== undefined;
  return { sessions, next: more ? { sortAt: last.sortAt, id: last.id } : null };
}
