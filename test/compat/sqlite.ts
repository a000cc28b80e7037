import { basename } from "node:path";
import { DatabaseSync, type SQLOutputValue } from "node:sqlite";

type Row = Record<string, SQLOutputValue>;

/** The tables, columns, indexes, triggers and views in a SQLite file. */
export function sqliteFacts(file: string): string[] {
  const database = new DatabaseSync(file, { readOnly: true });
  const name = basename(file);
  const ask = (sql: string, ...values: string[]): Row[] => database.prepare(sql).all(...values);
  try {
    const pragma = (asked: string): SQLOutputValue | undefined =>
      ask(`PRAGMA ${asked}`)[0]?.[asked];
    const about = ["application_id", "encoding", "journal_mode"].map(
      (asked) => `${name} ${asked}: ${String(pragma(asked))}`,
    );
    // One line for each version, so that a new migration only adds one.
    const versions = Array.from(
      { length: Number(pragma("user_version")) },
      (_, index) => `${name} user_version: ${index + 1}`,
    );
    // Shadow tables and sqlite_* tables belong to SQLite.
    const tables = ask(
      "SELECT name, type, strict, wr FROM pragma_table_list WHERE schema = 'main' AND type <> 'shadow' AND name NOT LIKE 'sqlite_%'",
    );
    const facts = tables.flatMap((table) => {
      const title = `${name} ${text(table, "type")} ${text(table, "name")}`;
      const columns = ask("SELECT * FROM pragma_table_xinfo(?)", text(table, "name"));
      const keys = ask("SELECT * FROM pragma_foreign_key_list(?)", text(table, "name"));
      return [
        `${title}: strict ${text(table, "strict")}, without rowid ${text(table, "wr")}`,
        ...columns.map((column) => `${title}.${columnText(column)}`),
        ...keys.map((key) => `${title}: ${text(key, "from")} refers to ${text(key, "table")}`),
      ];
    });
    const others = ask(
      "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE type <> 'table' OR sql LIKE 'CREATE VIRTUAL%'",
    ).map(
      (row) =>
        `${name} ${text(row, "type")} ${text(row, "name")} on ${text(row, "tbl_name")}${definition(row)}`,
    );
    return [...about, ...versions, ...facts, ...others];
  } finally {
    database.close();
  }
}

const text = (row: Row, column: string): string => String(row[column]);

function columnText(column: Row): string {
  const traits = [
    text(column, "type"),
    ...(column["notnull"] === 1 ? ["not null"] : []),
    ...(column["pk"] === 0 ? [] : [`key ${text(column, "pk")}`]),
    ...(column["dflt_value"] === null ? [] : [`default ${text(column, "dflt_value")}`]),
    ...(column["hidden"] === 0 ? [] : [`hidden ${text(column, "hidden")}`]),
  ];
  return `${text(column, "name")}: ${traits.join(", ")}`;
}

/** SQLite keeps no text for the index of a constraint. */
function definition({ sql }: Row): string {
  return typeof sql === "string" ? `: ${sql.replaceAll(/\s+/g, " ")}` : "";
}
