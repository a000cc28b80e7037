// A probe for SQLite's writer: while the file that its address names is there, the process stops itself in front of
// its next transaction, with the write already under way. The file is taken away first, so that it happens once.
import { rmSync } from "node:fs";

const gate = new URL(import.meta.url).searchParams.get("gate");

export function probe(sql: string): void {
  if (gate === null || sql !== "BEGIN IMMEDIATE") return;
  try {
    rmSync(gate);
  } catch {
    return;
  }
  process.kill(process.pid, "SIGSTOP");
}
