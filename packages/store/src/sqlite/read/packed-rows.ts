import type { SQLOutputValue } from "node:sqlite";

import type { Row } from "../connection.ts";

/**
 * Rows of one table on their way to another thread: the names once, the values in one flat list. Copying that costs a
 * fraction of copying as many objects, and text that is JSON is parsed where it is used and nowhere else.
 */
export interface PackedRows {
  readonly columns: readonly string[];
  readonly cells: readonly SQLOutputValue[];
}

export function packRows(rows: readonly Row[]): PackedRows {
  const columns = Object.keys(rows[0] ?? {});
  const cells: SQLOutputValue[] = [];
  for (const row of rows) for (const column of columns) cells.push(row[column] ?? null);
  return { columns, cells };
}

export function unpackRows({ columns, cells }: PackedRows): Row[] {
  const rows: Row[] = [];
  for (let start = 0; start < cells.length; start += columns.length) {
    const row: Row = {};
    for (let index = 0; index < columns.length; index += 1) {
      row[columns[index]!] = cells[start + index] ?? null;
    }
    rows.push(row);
  }
  return rows;
}
