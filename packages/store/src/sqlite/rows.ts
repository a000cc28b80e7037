import type { SQLInputValue, SQLOutputValue } from "node:sqlite";
import {
  createDecoder,
  createEncoder,
  type FieldColumn,
  type StoredValue,
  type Table,
} from "../schema/columns.ts";
import * as tables from "../schema/tables.ts";
import type { Connection } from "./connection.ts";
import type { SessionRow } from "@holdfast/engine";

/** A row by column names or by position. */
export type Row = Readonly<Record<string | number, SQLOutputValue>> | readonly SQLOutputValue[];

function cellOf(row: Row, column: string | number): SQLOutputValue | undefined {
  return (row as Readonly<Record<string | number, SQLOutputValue>>)[column];
}

/** The value doesn't have its column's type. The tables are STRICT, so this is damage. */
function damaged(column: string | number, value: unknown): Error {
  return new Error(`The column ${column} holds ${typeof value}.`);
}

export function int(row: Row, column: string | number): number {
  const value = cellOf(row, column);
  if (typeof value !== "number") throw damaged(column, value);
  return value;
}

export function intOrNull(row: Row, column: string | number): number | null {
  return cellOf(row, column) === null ? null : int(row, column);
}

/**
 * Text, typed as the id that the column holds. Only this driver writes these columns, from values that had the type;
 * parsing every id would cost more than reading the row.
 */
export function text<Id extends string = string>(row: Row, column: string | number): Id {
  const value = cellOf(row, column);
  if (typeof value !== "string") throw damaged(column, value);
  return value as Id;
}

export function textOrNull<Id extends string = string>(
  row: Row,
  column: string | number,
): Id | null {
  return cellOf(row, column) === null ? null : text<Id>(row, column);
}

export function bytes(row: Row, column: string | number): Uint8Array<ArrayBuffer> {
  const value = cellOf(row, column);
  if (!(value instanceof Uint8Array)) throw damaged(column, value);
  return value;
}

export function bytesOrNull(row: Row, column: string | number): Uint8Array<ArrayBuffer> | null {
  return cellOf(row, column) === null ? null : bytes(row, column);
}

function cellReader(column: FieldColumn): (cell: unknown) => unknown {
  const { name, kind, isNullable, options, decode } = column;
  const fail = (cell: unknown): never => {
    throw damaged(name, cell);
  };
  switch (kind) {
    case "int":
      return (cell) =>
        typeof cell === "number" || (isNullable && cell === null) ? cell : fail(cell);
    case "bool":
      return (cell) => (typeof cell === "number" ? cell === 1 : fail(cell));
    case "text":
    case "opaque":
    case "session":
      return (cell) =>
        typeof cell === "string" || (isNullable && cell === null) ? cell : fail(cell);
    case "json":
      return (cell) =>
        typeof cell === "string" || (isNullable && cell === null) ? decode(cell) : fail(cell);
    case "option":
      return (cell) =>
        options?.has(cell) === true || (isNullable && cell === null) ? cell : fail(cell);
  }
}

function cellWriter({
  kind,
  encode,
}: FieldColumn): ((value: unknown) => SQLInputValue) | undefined {
  if (kind === "bool") return Number;
  // A JSON column encodes to text.
  if (kind === "json") return encode as (value: unknown) => Exclude<StoredValue, boolean>;
  return undefined;
}

/** Decodes rows whose cells are named after their columns. A row's session is read as `session_id`. */
export function decoderByName<Item>({ columns }: Table<Item>): (row: Row) => Item {
  return createDecoder(columns, ({ name }) => name, cellReader);
}

/** Decodes arrays with the cells of all columns, starting at `first`. */
export function decoderByPosition<Item>({ columns }: Table<Item>, first = 0): (row: Row) => Item {
  return createDecoder(columns, (_, index) => first + index, cellReader);
}

export function encoder<Item>({ columns }: Table<Item>): (item: Item) => SQLInputValue[] {
  return createEncoder(columns, cellWriter);
}

interface SqliteTable<Item> {
  insert(connection: Connection, item: Item, sessionKey: number): number;
  update(connection: Connection, item: Item, sessionKey: number): void;
  /** Inserts, or updates the row with the same key. Never silently replaces a row with another one. */
  put(connection: Connection, item: Item, sessionKey: number): void;
  readonly decode: (row: Row) => Item;
}

function sqliteTable<Item>(description: Table<Item>): SqliteTable<Item> {
  const { name: table, columns } = description;
  const nameOf = ({ kind, name }: FieldColumn) => (kind === "session" ? "session_key" : name);
  const names = columns.map(nameOf);
  const keys = columns.filter(({ name }) => description.key.includes(name)).map(nameOf);
  const parameter = (name: string) => `?${names.indexOf(name) + 1}`;
  const changes = columns
    .filter((column) => !keys.includes(nameOf(column)))
    .map((column) => {
      const name = nameOf(column);
      const value = parameter(name);
      return `${name} = ${column.isSticky ? `coalesce(${value}, ${name})` : value}`;
    })
    .join(", ");
  const matches = keys.map((name) => `${name} = ${parameter(name)}`).join(" AND ");
  const insert = `INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map(parameter).join(", ")})`;
  const update = `UPDATE ${table} SET ${changes} WHERE ${matches}`;
  const put = `${insert} ON CONFLICT (${keys.join(", ")}) DO UPDATE SET ${changes}`;

  const encode = encoder(description);
  const session = columns.findIndex(({ kind }) => kind === "session");
  const cellsOf = (item: Item, sessionKey: number): SQLInputValue[] => {
    const cells = encode(item);
    if (session !== -1) cells[session] = sessionKey;
    return cells;
  };
  return {
    insert: (connection, item, sessionKey) =>
      Number(connection.sql(insert).run(...cellsOf(item, sessionKey)).lastInsertRowid),
    update: (connection, item, sessionKey) =>
      void connection.sql(update).run(...cellsOf(item, sessionKey)),
    put: (connection, item, sessionKey) =>
      void connection.sql(put).run(...cellsOf(item, sessionKey)),
    decode: decoderByName(description),
  };
}

export const runTable = sqliteTable(tables.runs);
export const inputTable = sqliteTable(tables.inputs);
export const approvalTable = sqliteTable(tables.approvals);
export const laneTable = sqliteTable(tables.lanes);
export const usageTable = sqliteTable(tables.usage);
export const leaseTable = sqliteTable(tables.leases);
export const markTable = sqliteTable(tables.marks);
export const memoryTryTable = sqliteTable(tables.memoryTries);
export const outboxTable = sqliteTable(tables.outbox);

/** The rows of a table whose rows belong to sessions. */
export function rowsOf(table: string): string {
  return `SELECT r.*, s.id AS session_id FROM ${table} r JOIN sessions s ON s.key = r.session_key`;
}

export const registerByKey = "SELECT * FROM register WHERE owner_id = ? AND key = ?";
export const requestByKey = `
  SELECT r.owner_id, r.key, r.hash, s.id AS session_id, r.answer, r.at
    FROM requests r LEFT JOIN sessions s ON s.key = r.session_key
   WHERE r.owner_id = ? AND r.key = ? AND r.at > ?`;

export const decodeRegister = decoderByName(tables.register);
export const decodeRequest = decoderByName(tables.requests);
export const decodeBlob = decoderByName(tables.blobs);
export const decodePurge = decoderByName(tables.purges);

/** A session's row, and what its commits need to know besides. */
export interface StoredSession {
  readonly key: number;
  readonly row: SessionRow;
  /** Whether head, activity and open deltas are in `live`. */
  readonly live: boolean;
  readonly lastDelta: number | null;
  readonly lastDeltaId: string | null;
}

const listedFields: ReadonlySet<string> = new Set<keyof SessionRow>([
  "owner",
  "sortAt",
  "archived",
  "trashedAt",
  "pinned",
  "project",
  "titleSource",
  "lastState",
]);

/** Every read of a session joins its live part. */
export const sessionTables = "sessions s LEFT JOIN live l ON l.session_key = s.key";

/** While a session is at the top of its list, its `sort_at` stays as it is: see `write/session-row.ts`. */
export const sortAtOfSession = "max(s.sort_at, coalesce(s.touched_at, 0))";

function expressionOf({ field, name }: FieldColumn): string {
  if (isSortAt(field)) return sortAtOfSession;
  if (!tables.headFields.has(field)) return `s.${name}`;
  return `coalesce(l.${name}, ${isOnlyLive(field) ? "0" : `s.${name}`})`;
}

/** A session without a live run has no open deltas. */
function isOnlyLive(field: string): boolean {
  return field === ("openDeltas" satisfies keyof SessionRow);
}

function isSortAt(field: string): boolean {
  return field === ("sortAt" satisfies keyof SessionRow);
}

const stateColumns = ["s.key", "l.session_key IS NOT NULL", "l.last_delta"];

/**
 * SQLite renders the row as one text, which is cheaper to build, to pass between threads and to parse than thirty
 * values.
 */
export const sessionJson = `json_array(${[...stateColumns, ...tables.sessions.columns.map(expressionOf)].join(", ")})`;

const decodeRow = decoderByPosition(tables.sessions, stateColumns.length);

/** Decodes the text of `sessionJson`. */
export function decodeSession(json: string): Omit<StoredSession, "lastDeltaId"> {
  const cells: unknown = JSON.parse(json);
  if (!isSessionRow(cells)) throw new Error("A session's row has unexpected columns.");
  return {
    key: int(cells, 0),
    live: int(cells, 1) === 1,
    lastDelta: intOrNull(cells, 2),
    row: decodeRow(cells),
  };
}

/** Each cell is checked when it is read. */
function isSessionRow(value: unknown): value is readonly SQLOutputValue[] {
  return (
    Array.isArray(value) && value.length === stateColumns.length + tables.sessions.columns.length
  );
}

/** Fields that only the engine uses. */
const hiddenFields: ReadonlySet<string> = new Set<keyof SessionRow>([
  "ranges",
  "alternatives",
  "openDeltas",
]);

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
  const visible = tables.sessions.columns.filter(({ field }) => !hiddenFields.has(field));
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

const storedColumns = tables.sessions.columns.filter(({ field }) => !isOnlyLive(field));
const touchedAt = storedColumns
  .filter(({ field }) => isSortAt(field))
  .map((column) => ({ ...column, name: "touched_at" }));

const sessionTable = sqliteTable({
  ...tables.sessions,
  columns: [...storedColumns, ...touchedAt],
});

/** Columns that no index of the list contains: an index is written whenever an UPDATE names one of its columns. */
const unlistedColumns = sqliteTable({
  ...tables.sessions,
  columns: [...storedColumns.filter(({ field }) => !listedFields.has(field)), ...touchedAt],
});

export function insertSession(connection: Connection, row: SessionRow): number {
  return sessionTable.insert(connection, row, 0);
}

export function updateSession(connection: Connection, row: SessionRow): void {
  sessionTable.update(connection, row, 0);
}

export function updateUnlistedColumns(connection: Connection, row: SessionRow): void {
  unlistedColumns.update(connection, row, 0);
}

export function topOfList(columns: string): string {
  return `
    SELECT ${columns} FROM sessions s WHERE s.owner_id = ? AND s.shelf = ? ORDER BY s.sort_at DESC, s.id DESC LIMIT 1`;
}

/** Tags carry a copy of the list's order, so that a list by tag is one scan too. */
export function writeTags(connection: Connection, key: number, row: SessionRow): void {
  connection.sql("DELETE FROM session_tags WHERE session_key = ?").run(key);
  const add = connection.sql("INSERT INTO session_tags VALUES (?, ?, ?, ?, ?, ?)");
  for (const tag of row.tags) add.run(row.owner, tag, tables.shelfOf(row), row.sortAt, row.id, key);
}
