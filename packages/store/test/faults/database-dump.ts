import { copyFileSync } from "node:fs";

import type { LinkState } from "@holdfast/engine";
import { sessionId } from "@holdfast/protocol";

import { ChainCheck, decodeLink, linkOfRow } from "../../src/shared/hash-chain.ts";
import { type Connection, connect, type Row } from "../../src/sqlite/connection.ts";
import { readEventRow } from "../../src/sqlite/events.ts";
import { migrate } from "../../src/sqlite/migrate.ts";
import { GroupWriter, type Outcome } from "../../src/sqlite/write/group-writer.ts";
import type { WriteProgram } from "./write-program.ts";

/** An empty store without a write-ahead log: one file, ready to be copied. */
export async function makeTemplate(file: string): Promise<void> {
  const connection = connect({ file, access: "write" });
  await migrate(connection);
  connection.close();
}

/** Every row of every table: two stores with the same dump hold the same data. */
export function dumpDatabase(connection: Connection): string {
  const tables = connection
    .sql(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
    )
    .all();
  const stateOf = linkStates(connection);
  const rows = tables.map(({ name }) => [
    name,
    connection
      .sql(`SELECT * FROM ${String(name)}`)
      .all()
      .map((row) =>
        JSON.stringify(name === "events" ? { ...row, link: stateOf(row) } : row, jsonReplacer),
      ),
  ]);
  return JSON.stringify(rows, null, 1);
}

/** Salts differ each time; what they have in common is that each event is linked to the one before it. */
function linkStates(connection: Connection): (row: Row) => LinkState {
  const sessions = connection.sql(
    "SELECT key, id FROM sessions UNION SELECT session_key, session_id FROM purges",
  );
  const chains = new Map(
    sessions.all().map(({ key, id }) => [Number(key), new ChainCheck(sessionId.parse(id))]),
  );
  return (row) => {
    const text = row["link"] === null ? null : String(row["link"]);
    const { type, commitment } = linkOfRow(readEventRow(row), text);
    const chain = chains.get(Number(row["session_key"]));
    if (chain === undefined) throw new Error("An event belongs to no session.");
    return chain.check(type, text === null ? null : decodeLink(text), commitment);
  };
}

function jsonReplacer(_: string, value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value;
}

/** The time of a group, the same for each attempt, so that repeated writes are identical. */
export const groupTime = (group: number): number => 1_800_000_000_000 + group * 1_000;

/** Whether each write of a group succeeded. */
export function allSucceeded(outcomes: readonly Outcome[]): boolean {
  return outcomes.every(({ status }) => status !== "failed" && status !== "refused");
}

/** For checks of what was written before: these writes themselves need not survive anything. */
export function connectWithoutSync(file: string): Connection {
  const connection = connect({ file, access: "write" });
  connection.exec("PRAGMA synchronous = OFF");
  return connection;
}

/** Runs the groups from this one on. */
export async function runFrom(
  connection: Connection,
  program: WriteProgram,
  from: number,
): Promise<void> {
  const writer = new GroupWriter({ open: () => connection, busyMs: 1_000, checkpointPages: 1_000 });
  for (const [index, group] of program.entries()) {
    if (index < from) continue;
    const outcomes = writer.run(group, () => groupTime(index));
    if (!allSucceeded(outcomes)) throw new Error(`Group ${index}: ${JSON.stringify(outcomes)}`);
  }
}

export interface Course {
  /** The store's dump before the first group and after each: there is nothing in between. */
  readonly dumps: readonly string[];
  readonly outcomes: readonly (readonly Outcome[])[];
  /** Copies of the file before each group. */
  readonly before: readonly string[];
}

/** Runs the program without any fault. */
export async function recordCourse(
  template: string,
  file: string,
  program: WriteProgram,
): Promise<Course> {
  copyFileSync(template, file);
  const connection = connectWithoutSync(file);
  const writer = new GroupWriter({ open: () => connection, busyMs: 1_000, checkpointPages: 1_000 });
  const dumps = [dumpDatabase(connection)];
  const outcomes: (readonly Outcome[])[] = [];
  const before: string[] = [];
  for (const [index, group] of program.entries()) {
    connection.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    const copy = `${file}.${index}`;
    copyFileSync(file, copy);
    before.push(copy);
    outcomes.push(writer.run(group, () => groupTime(index)));
    dumps.push(dumpDatabase(connection));
  }
  writer.close();
  return { dumps, outcomes, before };
}
