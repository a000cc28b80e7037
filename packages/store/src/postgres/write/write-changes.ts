import {
  awaitAll,
  type QueryResult,
  type Connection,
  insertRows,
  execute,
  type Statement,
  statement,
  upsertRows,
} from "../connection.ts";
import { IdConflict, RetryTransaction } from "../errors.ts";
import { insertDeltas, insertEvents } from "../events.ts";
import {
  encodeHead,
  encodeTags,
  headColumns,
  sessionTable,
  approvalTable,
  inputTable,
  laneTable,
  leaseTable,
  markTable,
  memoryTryTable,
  outboxTable,
  runTable,
  usageTable,
} from "../rows.ts";
import type { Changes } from "./working-copy.ts";

const headNames = `session_id, ${headColumns.join(", ")}`;
const createHeads = statement(
  "create_heads",
  `${insertRows("heads", headNames)} ON CONFLICT DO NOTHING`,
);
const moveHeads = statement(
  "move_heads",
  `UPDATE heads h SET ${headColumns.map((name) => `${name} = x.${name}`).join(", ")}
     FROM json_populate_recordset(null::heads, $1) x WHERE h.session_id = x.session_id`,
);

const appendEvents = statement("append_events", insertEvents);
const appendDeltas = statement("append_deltas", insertDeltas);
// Waits for a prune that is deleting this row, so that what is settled now is pruned later.
const putSettled = statement("settle", upsertRows("settled", "session_id", "upto"));

export const putSessions = statement("put_sessions", sessionTable.upsert);
export const dropTags = statement(
  "drop_tags",
  "DELETE FROM session_tags WHERE session_id IN (SELECT json_array_elements_text($1))",
);
export const putTags = statement(
  "put_tags",
  insertRows("session_tags", "owner_id, tag, shelf, sort_at, session_id"),
);

// These skip another session's id, and the row count shows that.
export const putRuns = statement(
  "put_runs",
  `${runTable.upsert} WHERE runs.session_id = excluded.session_id`,
);
export const putInputs = statement(
  "put_inputs",
  `${inputTable.upsert} WHERE inputs.session_id = excluded.session_id`,
);
export const putApprovals = statement(
  "put_approvals",
  `${approvalTable.upsert} WHERE approvals.session_id = excluded.session_id`,
);
export const putMarks = statement("put_marks", markTable.upsert);
export const putMemoryTries = statement("put_memory_tries", memoryTryTable.upsert);
const forgetMarks = statement(
  "forget_marks",
  `DELETE FROM marks m USING json_to_recordset($1) AS x (session_id text, up_to bigint)
    WHERE m.session_id = x.session_id AND m.seq <= x.up_to`,
);
const forgetTries = statement(
  "forget_tries",
  `DELETE FROM memory_tries t USING json_to_recordset($1) AS x (session_id text)
    WHERE t.session_id = x.session_id`,
);
export const putOutbox = statement("put_outbox", outboxTable.upsert);
export const putLanes = statement("put_lanes", laneTable.upsert);
export const putUsage = statement("put_usage", usageTable.insert);
const addRefs = statement(
  "add_refs",
  `UPDATE blobs b SET refs = b.refs + x.count
     FROM json_to_recordset($1) AS x (owner_id text, id text, count bigint)
    WHERE b.owner_id = x.owner_id AND b.id = x.id`,
);
// A branch of a branch also reads the first log, up to where its origin did or where it branched off.
const putBranches = statement(
  "put_branches",
  `INSERT INTO branches (log_id, session_id, upto)
   SELECT log_id, session_id, upto FROM json_populate_recordset(null::branches, $1)
   UNION ALL
   SELECT b.log_id, x.session_id, least(b.upto, x.upto)
     FROM json_populate_recordset(null::branches, $1) x JOIN branches b ON b.session_id = x.log_id`,
);

const putLeases = statement("put_leases", leaseTable.upsert);
// A renewal locks only the lease: if it was renewed since the row was loaded, the acquisition is decided again.
const lockUnchangedLeases = statement(
  "lock_unchanged_leases",
  `SELECT 1 FROM leases l JOIN json_populate_recordset(null::leases, $1) x
       ON l.session_id = x.session_id AND l.kind = x.kind AND l.expires_at = x.expires_at
    ORDER BY l.session_id, l.kind FOR UPDATE OF l`,
);
// In order, as a renewal locks them: otherwise the two could wait for each other.
const dropLeases = statement(
  "drop_leases",
  `WITH held AS (
     SELECT l.session_id, l.kind
       FROM leases l JOIN json_populate_recordset(null::leases, $1) x
         ON l.session_id = x.session_id AND l.kind = x.kind
      ORDER BY l.session_id, l.kind FOR UPDATE OF l)
   DELETE FROM leases l USING held h WHERE l.session_id = h.session_id AND l.kind = h.kind`,
);
const putFences = statement("put_fences", upsertRows("fences", "session_id, kind", "fence"));
// Keeps bytes that exist already, but restarts their grace period: someone is about to refer to them.
const putBlob = statement(
  "put_blob",
  `INSERT INTO blobs (owner_id, id, media_type, size, refs, created_at, bytes)
   VALUES ($1, $2, $3, $4, 0, $5, $6)
   ON CONFLICT (owner_id, id) DO UPDATE SET created_at = excluded.created_at`,
);

/** Sends all statements of the group at once, one for each table that has rows. */
export async function writeChanges(
  connection: Connection,
  changes: Changes,
  now: number,
): Promise<void> {
  const sent: Promise<unknown>[] = [];
  const send = (
    query: Statement,
    rows: readonly unknown[],
    check?: (result: QueryResult) => void,
  ) => {
    if (rows.length === 0) return;
    const result = execute(connection, query, [JSON.stringify(rows)]);
    sent.push(check === undefined ? result : result.then(check));
  };
  const expectAll = (rows: readonly unknown[], toError: () => Error) => (result: QueryResult) => {
    if (result.rowCount !== rows.length) throw toError();
  };

  const created = [...changes.created.values()].map(encodeHead);
  send(
    createHeads,
    created,
    expectAll(created, () => new RetryTransaction("created elsewhere meanwhile")),
  );
  const moved = [...changes.advanced.values()].map(encodeHead);
  send(
    moveHeads,
    moved,
    expectAll(moved, () => new RetryTransaction("purged meanwhile")),
  );
  send(appendEvents, changes.events);
  send(appendDeltas, changes.deltas);
  send(
    putSettled,
    [...changes.settled].map(([session_id, upto]) => ({ session_id, upto })),
  );

  send(putSessions, [...changes.sessions.values()].map(sessionTable.encode));
  send(dropTags, [...changes.retagged]);
  send(
    putTags,
    [...changes.retagged].flatMap((id) => encodeTags(changes.sessions.get(id)!)),
  );
  const runs = [...changes.runs.values()].map(runTable.encode);
  send(
    putRuns,
    runs,
    expectAll(runs, () => new IdConflict("This run belongs to another session.")),
  );
  const inputs = [...changes.inputs.values()].map(inputTable.encode);
  send(
    putInputs,
    inputs,
    expectAll(inputs, () => new IdConflict("This message belongs to another session.")),
  );
  const approvals = [...changes.approvals.values()].map(approvalTable.encode);
  send(
    putApprovals,
    approvals,
    expectAll(approvals, () => new IdConflict("This approval belongs to another session.")),
  );
  const remembered = [...changes.remembered].map(([session_id, up_to]) => ({ session_id, up_to }));
  send(forgetMarks, remembered);
  send(forgetTries, remembered);
  send(putMarks, [...changes.marks.values()].map(markTable.encode));
  send(putMemoryTries, [...changes.memoryTries.values()].map(memoryTryTable.encode));
  send(putOutbox, [...changes.outbox.values()].map(outboxTable.encode));
  send(putLanes, [...changes.lanes.values()].map(laneTable.encode));
  send(putUsage, changes.usage);
  const refs = [...changes.refs.values()];
  send(
    addRefs,
    refs,
    expectAll(refs, () => new RetryTransaction("a blob was collected meanwhile")),
  );
  send(putBranches, changes.branches);

  const replaced = [...changes.replaced.values()].map(leaseTable.encode);
  send(
    lockUnchangedLeases,
    replaced,
    expectAll(replaced, () => new RetryTransaction("a lease was renewed meanwhile")),
  );
  send(putLeases, [...changes.leases.values()].map(leaseTable.encode));
  send(dropLeases, [...changes.released.values()]);
  send(putFences, [...changes.fences.values()]);
  for (const { owner, id, mediaType, bytes } of changes.blobs) {
    sent.push(execute(connection, putBlob, [owner, id, mediaType, bytes.byteLength, now, bytes]));
  }
  await awaitAll(sent);
}
