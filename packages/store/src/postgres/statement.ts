import type { QueryResult, Connection } from "./connection.ts";

/** A statement that each connection prepares once, under this name. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

export function statement(name: string, text: string): Statement {
  return { name, text };
}

export type SqlValue = string | number | boolean | null | Uint8Array | readonly (string | number)[];

export function execute(
  session: Connection,
  { name, text }: Statement,
  values: readonly SqlValue[],
): Promise<QueryResult> {
  return session.query({ name, text, values: values.map(replaceNul) });
}

/** PostgreSQL takes no NUL in a text. Nothing that is stored has one, so an id that does names nothing. */
function replaceNul(value: SqlValue): SqlValue {
  if (typeof value === "string") return value.replaceAll("\0", "\uFFFD");
  if (!Array.isArray(value)) return value;
  return value.map((each: string | number) =>
    typeof each === "string" ? each.replaceAll("\0", "\uFFFD") : each,
  );
}

/** Inserts the rows of a JSON array, by the names of their columns. */
export function insertRows(table: string, columns: string): string {
  return `INSERT INTO ${table} (${columns})
    SELECT ${columns} FROM json_populate_recordset(null::${table}, $1)`;
}

/** The same, or updates the rows that are there. */
export function upsertRows(table: string, keys: string, rest: string): string {
  const changes = rest.split(",").map((column) => `${column} = excluded.${column.trim()}`);
  return `${insertRows(table, `${keys}, ${rest}`)}
    ON CONFLICT (${keys}) DO UPDATE SET ${changes.join(", ")}`;
}
