import type { SessionRow } from "@holdfast/engine";
import { z } from "zod";

import { headFields, sessions, shelfOf } from "../../schema/tables.ts";
import { type Row } from "../connection.ts";
import { decoder, encoder, namesOf, postgresTable } from "./tables.ts";

/** A session's row, and what its commits need to know besides. */
export interface StoredSession {
  readonly row: SessionRow;
  /** Deltas up to this seq are settled. */
  readonly settledUpto: number;
}

const columnsOfHead = sessions.columns.filter(({ field }) => headFields.has(field));
/** The columns of `heads` besides the session's id. */
export const headColumns = [...namesOf(columnsOfHead), "settled_upto"];

/** Every read of a session joins its head. */
export const sessionColumns = [
  ...sessions.columns.map(({ field, name }) => `${headFields.has(field) ? "h" : "s"}.${name}`),
  "h.settled_upto",
].join(", ");

const decodeRow = decoder(sessions);

export function decodeSession(row: Row): StoredSession {
  return { row: decodeRow(row), settledUpto: z.int().parse(row["settled_upto"]) };
}

/** Head, activity and open deltas go to `heads`. */
export const sessionTable = postgresTable<SessionRow>({
  ...sessions,
  columns: sessions.columns.filter(({ field }) => !headFields.has(field)),
});

const encodeHeadFields = encoder<SessionRow>({ ...sessions, columns: columnsOfHead });

export function encodeHead({ row, settledUpto }: StoredSession): Row {
  return { session_id: row.id, ...encodeHeadFields(row), settled_upto: settledUpto };
}

/** Tags carry a copy of the list's order, so that a list by tag is one scan too. */
export function encodeTags(row: SessionRow): Row[] {
  return row.tags.map((tag) => ({
    owner_id: row.owner,
    tag,
    shelf: shelfOf(row),
    sort_at: row.sortAt,
    session_id: row.id,
  }));
}
