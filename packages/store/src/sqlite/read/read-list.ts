import type { ListQuery, SessionPage, Shelf } from "@holdfast/engine";
import type { OwnerId } from "@holdfast/protocol";

import { text } from "../columns.ts";
import type { Connection } from "../connection.ts";
import { decodeSession, sessionJson } from "../session-row.ts";

const shelves: Record<Shelf, number> = { active: 0, archived: 1, trash: 2 };

/** Greater than any id. */
const end = "~";

/** One scan of one index, from the cursor on. Tags have the list's order in their own table. */
function listSql({ tag, project, pinned }: ListQuery): string {
  const place = tag === undefined ? "s" : "t";
  const tables =
    tag === undefined ? "sessions s" : "session_tags t JOIN sessions s ON s.key = t.session_key";
  return `
    SELECT ${sessionJson} FROM ${tables} LEFT JOIN live l ON l.session_key = s.key
     WHERE ${place}.owner_id = ? AND ${place}.shelf = ?
       ${tag === undefined ? "" : "AND t.tag = ?"}
       ${project === undefined ? "" : "AND s.project = ?"}
       ${pinned === undefined ? "" : "AND s.pinned = 1"}
       AND (${place}.sort_at, ${place}.id) < (?, ?)
     ORDER BY ${place}.sort_at DESC, ${place}.id DESC LIMIT ?`;
}

/** One more than asked for, so that the reader knows whether there is a next page. */
export function readList(connection: Connection, owner: OwnerId, query: ListQuery): string[] {
  const { tag, project, after, limit } = query;
  const shelf = shelves[query.shelf ?? "active"];
  const filters = [tag, project].filter((value) => value !== undefined);
  const [sortAt, id] = [after?.sortAt ?? Number.MAX_SAFE_INTEGER, after?.id ?? end];
  return connection
    .cells(listSql(query), owner, shelf, ...filters, sortAt, id, limit + 1)
    .map((cells) => text(cells, 0));
}

/** What was found and has not changed since is the same list, and is taken apart once. */
const decoded = new WeakMap<readonly string[], SessionPage>();

export function decodeList(found: readonly string[], query: ListQuery): SessionPage {
  const page = decoded.get(found) ?? decodePage(found, query);
  decoded.set(found, page);
  return page;
}

function decodePage(found: readonly string[], { limit }: ListQuery): SessionPage {
  const sessions = found.slice(0, limit).map((json) => decodeSession(json).row);
  const last = sessions.at(-1);
  const more = found.length > sessions.length && last !== undefined;
  return { sessions, next: more ? { sortAt: last.sortAt, id: last.id } : null };
}
