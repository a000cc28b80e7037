import { type BlobRow, type Derived, StoreFailure } from "@holdfast/engine";
import type { BlobId } from "@holdfast/protocol";

import { type Row, type Connection, execute, type Statement, statement } from "../connection.ts";
import {
  sessionTable,
  encodeTags,
  approvalTable,
  inputTable,
  laneTable,
  markTable,
  memoryTryTable,
  outboxTable,
  runTable,
  usageTable,
} from "../rows.ts";
import { createJob, type PendingJob } from "./jobs.ts";
import {
  dropTags,
  putApprovals,
  putInputs,
  putLanes,
  putMarks,
  putMemoryTries,
  putOutbox,
  putRuns,
  putSessions,
  putTags,
  putUsage,
} from "./write-changes.ts";

const lockHead = statement("lock_head", `SELECT 1 FROM heads WHERE session_id = $1 FOR UPDATE`);
const newestNumber = statement(
  "newest_number",
  `SELECT greatest((SELECT max(seq) FROM events WHERE session_id = $1),
                   (SELECT max(seq) FROM deltas WHERE session_id = $1)) AS newest
     FROM sessions WHERE id = $1`,
);
const putHead = statement(
  "put_head",
  `INSERT INTO heads (session_id, head, activity_at, open_deltas, settled_upto)
   VALUES ($1, $2::bigint, $3, $4::bigint, CASE WHEN $4 = 0 THEN $2 ELSE 0 END)
   ON CONFLICT (session_id) DO UPDATE SET head = excluded.head, activity_at = excluded.activity_at,
     open_deltas = excluded.open_deltas, settled_upto = greatest(heads.settled_upto, excluded.settled_upto)`,
);

/** `fsck --rebuild`: replaces the stored rows with those derived from the log, unless the log has grown meanwhile. */
export function replaceDerivedJob(derived: Derived): PendingJob<"replaced" | "moved"> {
  return createJob<"replaced" | "moved">({
    work: async (connection) => {
      const { id, head } = derived.session;
      await execute(connection, lockHead, [id]);
      const { rows } = await execute(connection, newestNumber, [id]);
      if (rows[0] === undefined || Number(rows[0]["newest"]) > head) return "moved";
      await replaceDerived(connection, derived);
      return "replaced";
    },
    failed: ({ code, message }) => {
      throw new StoreFailure(code, message);
    },
  });
}

const derivedTables = "runs inputs lanes usage approvals marks memory_tries outbox".split(" ");

async function replaceDerived(connection: Connection, derived: Derived): Promise<void> {
  const { session: row, runs, inputs, lanes, usage, approvals } = derived;
  const put = async (query: Statement, rows: readonly (Row | string)[]): Promise<void> => {
    await execute(connection, query, [JSON.stringify(rows)]);
  };
  await execute(connection, putHead, [row.id, row.head, row.activityAt, row.openDeltas]);
  await put(putSessions, [sessionTable.encode(row)]);
  await put(dropTags, [row.id]);
  await put(putTags, encodeTags(row));
  for (const table of derivedTables) {
    await connection.query({
      text: `DELETE FROM ${table} WHERE session_id = $1`,
      values: [row.id],
    });
  }
  await put(putRuns, runs.map(runTable.encode));
  await put(putInputs, inputs.map(inputTable.encode));
  await put(putApprovals, approvals.map(approvalTable.encode));
  await put(putMarks, derived.marks.map(markTable.encode));
  await put(putMemoryTries, derived.memoryTries.map(memoryTryTable.encode));
  await put(putOutbox, derived.outbox.map(outboxTable.encode));
  await put(putLanes, lanes.map(laneTable.encode));
  await put(putUsage, usage.map(usageTable.encode));
}

const replaceRefs = statement(
  "replace_refs",
  `UPDATE blobs b SET refs = coalesce(
     (SELECT x.count FROM json_to_recordset($2) AS x (id text, count bigint) WHERE x.id = b.id), 0)
    WHERE b.owner_id = $1`,
);

export function replaceBlobRefsJob(
  refs: ReadonlyMap<BlobId, number>,
  owner: BlobRow["owner"],
): PendingJob<void> {
  return createJob<void>({
    work: async (connection) => {
      const counts = [...refs].map(([id, count]) => ({ id, count }));
      await execute(connection, replaceRefs, [owner, JSON.stringify(counts)]);
    },
    failed: ({ code, message }) => {
      throw new StoreFailure(code, message);
    },
  });
}
