import type { MarkRow, MemoryChange, MemoryTryRow } from "@holdfast/engine";
import type { RunId, Seq, SessionId } from "@holdfast/protocol";

import { int, intOrNull, defineTable, text, textOrNull } from "./columns.ts";
import type { Connection, Row } from "../connection.ts";

export const marksTable = defineTable<MarkRow>("marks", ["session_key", "seq"], {
  session_key: (_, key) => key,
  seq: (mark) => mark.seq,
  run_id: (mark) => mark.runId,
  provider: (mark) => mark.provider,
  configuration: (mark) => mark.configuration,
  at: (mark) => mark.at,
});

export function decodeMark(row: Row): MarkRow {
  return {
    session: text<SessionId>(row, "session_id"),
    seq: int(row, "seq") as Seq,
    runId: text<RunId>(row, "run_id"),
    provider: text(row, "provider"),
    configuration: text(row, "configuration"),
    at: int(row, "at"),
  };
}

export const memoryTriesTable = defineTable<MemoryTryRow>("memory_tries", ["session_key"], {
  session_key: (_, key) => key,
  key: (row) => row.key,
  up_to: (row) => row.upTo,
  tries: (row) => row.tries,
  retry_at: (row) => row.retryAt,
  code: (row) => row.code,
  message: (row) => row.message,
});

export function decodeMemoryTry(row: Row): MemoryTryRow {
  return {
    session: text<SessionId>(row, "session_id"),
    key: text(row, "key"),
    upTo: int(row, "up_to") as Seq,
    tries: int(row, "tries"),
    retryAt: intOrNull(row, "retry_at"),
    code: textOrNull(row, "code"),
    message: textOrNull(row, "message"),
  };
}

export function applyMemoryChange(connection: Connection, change: MemoryChange, key: number): void {
  switch (change.do) {
    case "mark":
      return marksTable.put(connection, change.mark, key);
    case "try":
      return memoryTriesTable.put(connection, change.trying, key);
    case "forget":
      connection.sql("DELETE FROM marks WHERE session_key = ? AND seq <= ?").run(key, change.upTo);
      connection.sql("DELETE FROM memory_tries WHERE session_key = ?").run(key);
  }
}
