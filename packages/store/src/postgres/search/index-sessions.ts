import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import { z } from "zod";
import type { SearchRole } from "@holdfast/engine";
import { decodeEvent, type StoredEvent, textOf } from "@holdfast/protocol";
import { foldText, snippetText, tokensOf } from "../../shared/search-text/tokens.ts";
import { type Row, type Connection, execute, statement, upsertRows } from "../connection.ts";
import { decodeEventRow, eventColumns } from "../events.ts";

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

/** The most entries of a session that one transaction indexes. */
const entriesPerBatch = 10;
/** How long other work may wait for the indexer. */
const maxSliceMs = 4;
/** Text after this many characters isn't indexed. */
const maxIndexedChars = 64 * 1024;

/** A purged session's log is kept as far as a branch reads it, without its title. */
export const logs = `
  SELECT s.id, s.owner_id, s.title, s.sort_at, h.head, false AS purged
    FROM sessions s JOIN heads h ON h.session_id = s.id
  UNION ALL
  SELECT p.session_id, p.owner_id, NULL, p.at, (SELECT max(upto) FROM branches WHERE log_id = p.session_id), true
    FROM purges p WHERE EXISTS (SELECT 1 FROM branches WHERE log_id = p.session_id)`;

// Two processes that index the same session take turns at this row, which a purged one needs for that, too: otherwise
// one could add texts that the other has just deleted. In id order, so that neither waits for the other twice.
const createState = statement(
  "search_open_state",
  `INSERT INTO search_state (session_id, indexed_seq)
   SELECT id, 0 FROM unnest($1::text[]) AS t (id) ORDER BY id COLLATE "C" ON CONFLICT DO NOTHING`,
);
const lockState = statement(
  "search_lock_state",
  `SELECT session_id, indexed_seq FROM search_state WHERE session_id = ANY($1) ORDER BY session_id FOR UPDATE`,
);
const readUnindexed = statement(
  "search_read_behind",
  `SELECT l.id AS session_id, l.owner_id, l.title, l.sort_at, l.head, l.purged, st.title AS indexed_title, e.*
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

// Text of a purged session that a branch still reads stays in the index, and is found in the branch.
const forgetTexts = statement(
  "search_forget_texts",
  `DELETE FROM search_texts t
    WHERE t.session_id = ANY($1)
      AND NOT EXISTS (SELECT 1 FROM heads h WHERE h.session_id = t.session_id)
      AND NOT EXISTS (
        SELECT 1 FROM branches b WHERE b.log_id = t.session_id AND b.upto >= t.seq AND t.role <> 'title')`,
);
const forgetState = statement(
  "search_forget_state",
  `DELETE FROM search_state st
    WHERE st.session_id = ANY($1)
      AND NOT EXISTS (SELECT 1 FROM heads h WHERE h.session_id = st.session_id)
      AND NOT EXISTS (SELECT 1 FROM branches b WHERE b.log_id = st.session_id)`,
);

const unindexedRow = z.object({
  session_id: z.string(),
  owner_id: z.string(),
  title: z.string().nullable(),
  indexed_title: z.string().nullable(),
  sort_at: z.int(),
  head: z.int(),
  purged: z.boolean(),
  seq: z.int().nullable(),
});

/** Brings the index of these sessions up to date, and returns those that have more. Run it in a transaction. */
export async function indexSessions(
  connection: Connection,
  ids: readonly string[],
): Promise<readonly string[]> {
  await execute(connection, createState, [ids]);
  await execute(connection, lockState, [ids]);
  const { rows } = await execute(connection, readUnindexed, [ids]);
  const bySession = Map.groupBy(rows, (row) => unindexedRow.parse(row).session_id);
  const purged = new Set(ids.filter((id) => !bySession.has(id)));
  const texts: Row[] = [];
  const states: Row[] = [];
  const retitled: string[] = [];
  const unfinished: string[] = [];
  for (const [id, entries] of bySession) {
    const last = unindexedRow.parse(entries.at(-1));
    if (last.purged) purged.add(id);
    const complete = entries.length < entriesPerBatch;
    if (!complete) unfinished.push(id);
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
  if (texts.length > 0) await execute(connection, putTexts, [JSON.stringify(texts)]);
  if (states.length > 0) await execute(connection, putState, [JSON.stringify(states)]);
  if (purged.size > 0) {
    await execute(connection, forgetTexts, [[...purged]]);
    await execute(connection, forgetState, [[...purged]]);
  }
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
