import { readFileSync, writeFileSync } from "node:fs";

export interface StatementRecorder {
  /** What a store is opened with. */
  readonly probeModule: string;
  /** What ran since the last call. */
  take(): readonly string[];
}

/** Writes the statements of a store's writer down in this file. */
export function recordStatements(file: string): StatementRecorder {
  const probeModule = new URL("./statement-recorder-probe.ts", import.meta.url);
  probeModule.searchParams.set("to", file);
  writeFileSync(file, "");
  return {
    probeModule: probeModule.href,
    take() {
      const lines = readFileSync(file, "utf8").split("\n").filter(isWork);
      writeFileSync(file, "");
      return lines;
    },
  };
}

/** The writer looks after its log when the answer is on its way; whether it has done so by now is nobody's concern. */
function isWork(line: string): boolean {
  return line !== "" && !line.startsWith("PRAGMA wal_checkpoint");
}

/** The tables that statements write to. */
export function tablesWritten(statements: readonly string[]): ReadonlySet<string> {
  const writes = /^(?:INSERT(?: OR REPLACE)? INTO|UPDATE|DELETE FROM) (\w+)/;
  return new Set(statements.flatMap((sql) => writes.exec(sql)?.[1] ?? []));
}
