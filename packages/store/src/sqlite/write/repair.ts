import type { Derived } from "@holdfast/engine";

import type { Connection } from "../connection.ts";
import {
  approvalTable,
  inputTable,
  laneTable,
  markTable,
  memoryTryTable,
  outboxTable,
  runTable,
  usageTable,
  readSession,
} from "../rows.ts";
import type { SessionCache } from "./group-writer.ts";
import { placeSession } from "./session-row.ts";

/** `fsck --rebuild`: replaces the stored rows with those derived from the log, unless the log has grown meanwhile. */
export function replaceDerived(
  connection: Connection,
  cache: SessionCache,
  derived: Derived,
): "replaced" | "moved" {
  const { session } = derived;
  const stored = readSession(connection, session.id);
  const newest = connection
    .sql("SELECT max(seq) AS seq FROM events WHERE session_key = ?")
    .get(stored?.key ?? -1);
  if (stored === null || Number(newest?.["seq"] ?? 0) > session.head) return "moved";
  const { key } = stored;
  placeSession(connection, key, session, true);
  connection
    .sql("UPDATE live SET head = ?, activity_at = ?, open_deltas = ? WHERE session_key = ?")
    .run(session.head, session.activityAt, session.openDeltas, key);
  for (const table of ["runs", "inputs", "lanes", "approvals", "marks", "memory_tries", "outbox"]) {
    connection.sql(`DELETE FROM ${table} WHERE session_key = ?`).run(key);
  }
  connection.sql("DELETE FROM usage WHERE session_id = ?").run(session.id);
  for (const run of derived.runs) runTable.put(connection, run, key);
  for (const input of derived.inputs) inputTable.put(connection, input, key);
  for (const approval of derived.approvals) approvalTable.put(connection, approval, key);
  for (const mark of derived.marks) markTable.put(connection, mark, key);
  for (const memoryTry of derived.memoryTries) memoryTryTable.put(connection, memoryTry, key);
  for (const chunk of derived.outbox) outboxTable.put(connection, chunk, key);
  for (const lane of derived.lanes) laneTable.put(connection, lane, key);
  for (const usage of derived.usage) usageTable.put(connection, usage, key);
  cache.forget(session.id);
  return "replaced";
}
