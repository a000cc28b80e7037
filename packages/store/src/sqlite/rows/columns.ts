import type { SQLInputValue, SQLOutputValue } from "node:sqlite";

import type { Connection } from "../connection.ts";

/** A row by column names or by position. */
type Cells = Readonly<Record<string | number, SQLOutputValue>> | readonly SQLOutputValue[];

function cell(row: Cells, column: string | number): SQLOutputValue | undefined {
  return (row as Readonly<Record<string | number, SQLOutputValue>>)[column];
}

/** The value doesn't have its column's type. The tables are STRICT, so this is damage. */
function damaged(row: Cells, column: string | number): Error {
  return new Error(`The column ${column} holds ${typeof cell(row, column)}.`);
}

export function int(row: Cells, column: string | number): number {
  const value = cell(row, column);
  if (typeof value !== "number") throw damaged(row, column);
  return value;
}

export function intOrNull(row: Cells, column: string | number): number | null {
  return cell(row, column) === null ? null : int(row, column);
}

/**
 * Text, typed as the id that the column holds. Only this driver writes these columns, from values that had the type;
 * parsing every id would cost more than reading the row.
 */
export function text<Brand extends string = string>(row: Cells, column: string | number): Brand {
  const value = cell(row, column);
  if (typeof value !== "string") throw damaged(row, column);
  return value as Brand;
}

export function textOrNull<Brand extends string = string>(
  row: Cells,
  column: string | number,
): Brand | null {
  return cell(row, column) === null ? null : text<Brand>(row, column);
}

export function bool(row: Cells, column: string | number): boolean {
  return int(row, column) === 1;
}

export function enumText<Option extends string>(
  row: Cells,
  column: string | number,
  options: ReadonlySet<Option>,
): Option | null {
  const value = cell(row, column);
  if (value === null) return null;
  const values = options as ReadonlySet<unknown>;
  if (!values.has(value)) throw damaged(row, column);
  return value as Option;
}

export function bytes(row: Cells, column: string | number): Uint8Array<ArrayBuffer> {
  const value = cell(row, column);
  if (!(value instanceof Uint8Array)) throw damaged(row, column);
  return value;
}

type Columns<Item> = Readonly<Record<string, (item: Item, sessionKey: number) => SQLInputValue>>;

export interface Table<Item> {
  insert(connection: Connection, item: Item, sessionKey: number): number;
  update(connection: Connection, item: Item, sessionKey: number): void;
  /** Inserts, or updates the row with the same key. Never silently replaces a row with another one. */
  put(connection: Connection, item: Item, sessionKey: number): void;
}

/**
 * A table's columns, each with the function that computes its value, key columns first. `sticky` columns are never
 * reset to null.
 */
export function defineTable<Item>(
  name: string,
  keys: readonly string[],
  columns: Columns<Item>,
  sticky: readonly string[] = [],
): Table<Item> {
  const names = Object.keys(columns);
  const values = Object.values(columns);
  const nonKeys = names.slice(keys.length);
  const insert = `INSERT INTO ${name} (${names.join(", ")}) VALUES (${names.map((_, index) => `?${index + 1}`).join(", ")})`;
  const changes = nonKeys
    .map((column, index) => {
      const value = `?${index + keys.length + 1}`;
      return `${column} = ${sticky.includes(column) ? `coalesce(${value}, ${column})` : value}`;
    })
    .join(", ");
  const matches = keys.map((column, index) => `${column} = ?${index + 1}`).join(" AND ");
  const update = `UPDATE ${name} SET ${changes} WHERE ${matches}`;
  const put = `${insert} ON CONFLICT (${keys.join(", ")}) DO UPDATE SET ${changes}`;
  const valuesOf = (item: Item, sessionKey: number) =>
    values.map((value) => value(item, sessionKey));
  return {
    insert: (connection, item, sessionKey) =>
      Number(connection.sql(insert).run(...valuesOf(item, sessionKey)).lastInsertRowid),
    update: (connection, item, sessionKey) =>
      void connection.sql(update).run(...valuesOf(item, sessionKey)),
    put: (connection, item, sessionKey) =>
      void connection.sql(put).run(...valuesOf(item, sessionKey)),
  };
}
