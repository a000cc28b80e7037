import type { SQLOutputValue } from "node:sqlite";

import type { SessionRow } from "@holdfast/engine";

import type { FieldColumn } from "../../schema/columns.ts";
import { headFields, sessions, shelfOf } from "../../schema/tables.ts";
import type { Connection } from "../connection.ts";
import { decoderByPosition, int, intOrNull, sqliteTable, text, textOrNull } from "./tables.ts";

/** A session's row, and what its commits need to know besides. */
export interface StoredSession {
  readonly key: number;
  readonly row: SessionRow;
  /** Whether head, activity and open deltas are in `live`. */
  readonly live: boolean;
  readonly lastDelta: number | null;
  readonly lastDeltaId: string | null;
}

/** Every read of a session joins its live part. */
export const sessionTables = "sessions s LEFT JOIN live l ON l.session_key = s.key";

function expressionOf({ field, name }: FieldColumn): string {
  if (!headFields.has(field)) return `s.${name}`;
  return `coalesce(l.${name}, ${isOnlyLive(field) ? "0" : `s.${name}`})`;
}

/** A session without a live run has no open deltas. */
function isOnlyLive(field: string): boolean {
  return field === ("openDeltas" satisfies keyof SessionRow);
}

const stateColumns = ["s.key", "l.session_key IS NOT NULL", "l.last_delta"];

/**
 * SQLite renders the row as one text, which is cheaper to build, to pass between threads and to parse than thirty
 * values.
 */
export const sessionJson = `json_array(${[...stateColumns, ...sessions.columns.map(expressionOf)].join(", ")})`;

const decodeRow = decoderByPosition(sessions, stateColumns.length);

/** Decodes the text of `sessionJson`. */
export function decodeSession(json: string): Omit<StoredSession, "lastDeltaId"> {
  const cells: unknown = JSON.parse(json);
  if (!isSessionRow(cells)) throw new Error("A session's row has other columns.");
  return {
    key: int(cells, 0),
    live: int(cells, 1) === 1,
    lastDelta: intOrNull(cells, 2),
    row: decodeRow(cells),
  };
}

/** Each cell is checked when it is read. */
function isSessionRow(value: unknown): value is readonly SQLOutputValue[] {
  return Array.isArray(value) && value.length === stateColumns.length + sessions.columns.length;
}

/** What only the engine uses. */
const hiddenFields: ReadonlySet<string> = new Set<keyof SessionRow>(["ranges", "openDeltas"]);

/** A column as JSON. */
function jsonOf(column: FieldColumn): string {
  const expression = expressionOf(column);
  if (column.kind === "json") return expression;
  if (column.kind === "bool") return `iif(${expression}, 'true', 'false')`;
  if (column.kind === "int" && !column.isNullable) return expression;
  return `json_quote(${expression})`;
}

/** The JSON text of `viewSession`, without building a row in between. */
export const sessionViewJson = createViewJson();

function createViewJson(): string {
  const visible = sessions.columns.filter(({ field }) => !hiddenFields.has(field));
  const plain = visible.filter(({ part }) => part === undefined);
  const template = plain.map(({ field }) => `"${field}":%s`).join(",");
  const groups = Map.groupBy(
    visible.filter(({ part }) => part !== undefined),
    ({ field }) => field,
  );
  const optional = [...groups].map(([field, columns]) => {
    const parts = columns.map(({ part }) => `"${part}":%s`).join(",");
    const isAbsent = `${expressionOf(columns[0]!)} IS NULL`;
    return `iif(${isAbsent}, '', format(',"${field}":{${parts}}', ${columns.map(jsonOf).join(", ")}))`;
  });
  const values = [...plain.map(jsonOf), ...optional].join(", ");
  return `format('{${template}${"%s".repeat(optional.length)}}', ${values})`;
}

const sessionById = `
  SELECT ${sessionJson} AS session, (SELECT d.id FROM deltas d WHERE d.pos = l.last_delta) AS last_delta_id
    FROM ${sessionTables} WHERE s.id = ?`;

export function readSession(connection: Connection, id: string): StoredSession | null {
  const row = connection.sql(sessionById).get(id);
  if (row === undefined) return null;
  const lastDeltaId = textOrNull(row, "last_delta_id");
  return { ...decodeSession(text(row, "session")), lastDeltaId };
}

const sessionTable = sqliteTable({
  ...sessions,
  columns: sessions.columns.filter(({ field }) => !isOnlyLive(field)),
});

export function insertSession(connection: Connection, row: SessionRow): number {
  return sessionTable.insert(connection, row, 0);
}

export function updateSession(connection: Connection, row: SessionRow): void {
  sessionTable.update(connection, row, 0);
}

/** Tags carry a copy of the list's order, so that a list by tag is one scan too. */
export function writeTags(connection: Connection, key: number, row: SessionRow): void {
  connection.sql("DELETE FROM session_tags WHERE session_key = ?").run(key);
  const add = connection.sql("INSERT INTO session_tags VALUES (?, ?, ?, ?, ?, ?)");
  for (const tag of row.tags) add.run(row.owner, tag, shelfOf(row), row.sortAt, row.id, key);
}
