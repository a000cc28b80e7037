import type { ListQuery, SessionPage } from "@holdfast/engine";
import type { OwnerId } from "@holdfast/protocol";

import { decodeSession, sessionColumns, shelves } from "../rows/sessions.ts";
import { statement, type SqlValue } from "../statement.ts";
import type { ReaderPool } from "./reader-pool.ts";

/** One scan of the index that fits the filter, from the cursor on; then the page's heads. */
export async function listSessions(
  readers: ReaderPool,
  owner: OwnerId,
  query: ListQuery,
): Promise<SessionPage> {
  const { shelf = "active", pinned, project, tag, limit, after } = query;
  const values: SqlValue[] = [owner, shelves[shelf], limit + 1];
  const value = (each: SqlValue): string => `$${values.push(each)}`;
  const place = tag === undefined ? "(s.sort_at, s.id)" : "(t.sort_at, t.session_id)";
  const conditions = [
    ...(tag === undefined
      ? ["s.owner_id = $1", "s.shelf = $2"]
      : ["t.owner_id = $1", "t.shelf = $2", `t.tag = ${value(tag)}`]),
    ...(pinned === undefined ? [] : ["s.pinned"]),
    ...(project === undefined ? [] : [`s.project = ${value(project)}`]),
    ...(after === undefined ? [] : [`${place} < (${value(after.sortAt)}, ${value(after.id)})`]),
  ];
  const [sortAt, id] = tag === undefined ? ["s.sort_at", "s.id"] : ["t.sort_at", "t.session_id"];
  const used = [tag, pinned, project, after].map((each) => (each === undefined ? 0 : 1));
  const list = statement(
    `list_${used.join("")}`,
    `SELECT ${sessionColumns} FROM (
       SELECT s.* FROM sessions s ${tag === undefined ? "" : "JOIN session_tags t ON t.session_id = s.id"}
        WHERE ${conditions.join(" AND ")} ORDER BY ${sortAt} DESC, ${id} DESC LIMIT $3) s
     JOIN heads h ON h.session_id = s.id ORDER BY s.sort_at DESC, s.id DESC`,
  );
  const rows = await readers.rows(list, values);
  const sessions = rows.slice(0, limit).map((row) => decodeSession(row).row);
  const last = sessions.at(-1);
  const more = rows.length > limit && last !== undefined;
  return { sessions, next: more ? { sortAt: last.sortAt, id: last.id } : null };
}
