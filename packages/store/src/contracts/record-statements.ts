// A probe for SQLite's connections: writes down each statement, one to a line, in the file that its address names.
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";

const to = new URL(import.meta.url).searchParams.get("to");

export function probe(sql: string): void {
  if (to !== null) appendFileSync(to, `${sql.replaceAll(/\s+/g, " ").trim()}\n`);
}

export interface Recorder {
  /** What a store is opened with. */
  readonly probeModule: string;
  /** What ran since the last call. */
  take(): readonly string[];
}

export function recordStatements(file: string): Recorder {
  const probeModule = new URL(import.meta.url);
  probeModule.searchParams.set("to", file);
  writeFileSync(file, "");
  return {
    probeModule: probeModule.href,
    take() {
      const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
      writeFileSync(file, "");
      return lines;
    },
  };
}

/** The tables that statements write to. */
export function tablesWritten(statements: readonly string[]): ReadonlySet<string> {
  const writes = /^(?:INSERT(?: OR REPLACE)? INTO|UPDATE|DELETE FROM) (\w+)/;
  return new Set(statements.flatMap((sql) => writes.exec(sql)?.[1] ?? []));
}
