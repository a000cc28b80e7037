import type { SessionId } from "@holdfast/protocol";
import { setImmediate as turn } from "node:timers/promises";
import { z } from "zod";

import { foldText, snippetText } from "../../shared/search-text/fold.ts";
import { tokensOf } from "../../shared/search-text/tokens.ts";
import type { Row, Connection } from "../connection.ts";
import { decodeEventRow, eventColumns } from "../rows/events.ts";
import { execute, statement, upsertRows } from "../statement.ts";
import { searchableTextOf } from "./searchable.ts";

/** Sessions and entries in one transaction. */
export const sessionsPerBatch = 20;
const entriesPerBatch = 10;
/** How long other work may wait for us. */
const maxSliceMs = 4;
/** What stands further back in a text is not indexed. */
const indexedLength = 64 * 1024;

const createState = statement(
  "search_open_state",
  `INSERT INTO search_state (session_id, indexed_seq)
   SELECT session_id, 0 FROM heads WHERE session_id = ANY($1) ORDER BY session_id ON CONFLICT DO NOTHING`,
);
// In id order: two processes that index the same sessions take turns.
const lockState = statement(
  "search_lock_state",
  `SELECT session_id, indexed_seq FROM search_state WHERE session_id = ANY($1) ORDER BY session_id FOR UPDATE`,
);
const readUnindexed = statement(
  "search_read_behind",
  `SELECT s.id AS session_id, s.owner_id, s.title, s.sort_at, h.head, st.title AS indexed_title, e.*
     FROM search_state st
     JOIN sessions s ON s.id = st.session_id
     JOIN heads h ON h.session_id = st.session_id
     LEFT JOIN LATERAL (
       SELECT ${eventColumns} FROM events
        WHERE session_id = st.session_id AND entry AND seq > st.indexed_seq AND seq <= h.head
        ORDER BY seq LIMIT ${entriesPerBatch}) e ON true
    WHERE st.session_id = ANY($1)
    ORDER BY s.id, e.seq`,
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

/** Indexes what is new in these sessions, and answers which have more. */
export async function indexSessions(
  session: Connection,
  ids: readonly SessionId[],
): Promise<readonly SessionId[]> {
  await session.query({ text: "SET LOCAL synchronous_commit = off" });
  await execute(session, createState, [ids]);
  await execute(session, lockState, [ids]);
  const { rows } = await execute(session, readUnindexed, [ids]);
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
  if (retitled.length > 0) await execute(session, dropTitles, [retitled]);
  await execute(session, putTexts, [JSON.stringify(texts)]);
  await execute(session, putState, [JSON.stringify(states)]);
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

/** Lets others go on every few milliseconds. */
async function textsOf(rows: readonly Row[]): Promise<Row[]> {
  const texts: Row[] = [];
  let startedAt = performance.now();
  for (const row of rows) {
    const read = row["seq"] === null ? undefined : decodeEventRow(row);
    const said = read?.status === "intact" ? searchableTextOf(read.event) : undefined;
    if (read?.status !== "intact" || said === undefined) continue;
    const { session_id, owner_id } = row;
    const { seq, at } = read.event;
    texts.push({ session_id, seq, role: said.role, owner_id, at, tokens: tokensIn(said.text) });
    if (performance.now() - startedAt < maxSliceMs) continue;
    await turn();
    startedAt = performance.now();
  }
  return texts;
}

function tokensIn(text: string): string[] {
  return [...tokensOf(foldText(snippetText(text.slice(0, indexedLength))))];
}
