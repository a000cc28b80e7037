import {
  type QueryResult,
  type Row,
  type Connection,
  insertRows,
  execute,
  type Statement,
  statement,
  upsertRows,
} from "../connection.ts";
import { IdConflict, RetryTransaction } from "../errors.ts";
import { encodeApproval } from "../rows/approvals.ts";
import {
  encodeInput,
  encodeLane,
  encodeRun,
  encodeLease,
  encodeMark,
  encodeMemoryTry,
} from "../rows/tables.ts";
import { encodeOutbox } from "../rows/outbox.ts";
import { encodeSession, encodeTags, type StoredSession } from "../rows/sessions.ts";
import type { Changes } from "./working-copy.ts";

const headColumns = "session_id, head, activity_at, open_deltas, settled_upto";
const createHeads = statement(
  "create_heads",
  `${insertRows("heads", headColumns)} ON CONFLICT DO NOTHING`,
);
const moveHeads = statement(
  "move_heads",
  `UPDATE heads h SET head = x.head, activity_at = x.activity_at, open_deltas = x.open_deltas,
          settled_upto = x.settled_upto
     FROM json_populate_recordset(null::heads, $1) x WHERE h.session_id = x.session_id`,
);

const payloadColumns = "session_id, seq, id, type, v, at, run_id, quiet, sum, data";
const appendEvents = statement("append_events", insertRows("events", `${payloadColumns}, entry`));
const appendDeltas = statement("append_deltas", insertRows("deltas", payloadColumns));
// Waits for a prune that is deleting this row, so that what is settled now is pruned later.
const putSettled = statement("settle", upsertRows("settled", "session_id", "upto"));

export const putSessions = statement(
  "put_sessions",
  upsertRows(
    "sessions",
    "id",
    `owner_id, version, revision, created_at, sort_at, title, title_source, preview, message_count, model,
     workspace, pinned, archived, project, tags, trashed_at, ranges, origin_id, origin_seq, epoch, live_run,
     live_state, last_state`,
  ),
);
export const dropTags = statement(
  "drop_tags",
  "DELETE FROM session_tags WHERE session_id IN (SELECT json_array_elements_text($1))",
);
export const putTags = statement(
  "put_tags",
  insertRows("session_tags", "owner_id, tag, shelf, sort_at, session_id"),
);

// Leaves an id of another session alone; the row count then shows it.
export const putRuns = statement(
  "put_runs",
  `${upsertRows(
    "runs",
    "id",
    `session_id, state, cause, attempt, step, cancel_requested, continues, created_at, started_at, ended_at,
     journal_from, tries, rests_since, rested_ms`,
  )} WHERE runs.session_id = excluded.session_id`,
);
export const putInputs = statement(
  "put_inputs",
  `${upsertRows(
    "inputs",
    "message_id",
    "session_id, client_id, hash, run_id, seq, mode, state, lane, at, content",
  )} WHERE inputs.session_id = excluded.session_id`,
);
export const putApprovals = statement(
  "put_approvals",
  `${upsertRows(
    "approvals",
    "id",
    `session_id, owner_id, run_id, call_id, tool, input, input_hash, asked_at, expires_at, state, decision,
     answered_at, details`,
  )} WHERE approvals.session_id = excluded.session_id`,
);
export const putMarks = statement(
  "put_marks",
  upsertRows("marks", "session_id, seq", "run_id, provider, configuration, at"),
);
export const putMemoryTries = statement(
  "put_memory_tries",
  upsertRows("memory_tries", "session_id", "key, up_to, tries, retry_at, code, message"),
);
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
// Only the start of a delivery names what it answers; later chunks must not reset that.
export const putOutbox = statement(
  "put_outbox",
  upsertRows(
    "outbox",
    "session_id, delivery, chunk",
    `kind, lane, run_id, approval_id, inbound, reply_to, text, begun, state, sent_from, sent_to, platform_id,
     attempts, retry_at, code, message, at`,
  ).replace("inbound = excluded.inbound", "inbound = coalesce(excluded.inbound, outbox.inbound)"),
);
export const putLanes = statement(
  "put_lanes",
  upsertRows("lanes", "owner_id, lane", "session_id, at"),
);
export const putUsage = statement(
  "put_usage",
  insertRows(
    "usage",
    `session_id, seq, run_id, owner_id, at, model, input, output, cache_read, cache_write, cost_micros`,
  ),
);
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

const putLeases = statement(
  "put_leases",
  upsertRows("leases", "session_id, kind", "fence, holder, expires_at"),
);
const dropLeases = statement(
  "drop_leases",
  `DELETE FROM leases l USING json_populate_recordset(null::leases, $1) x
    WHERE l.session_id = x.session_id AND l.kind = x.kind`,
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

  send(putSessions, [...changes.sessions.values()].map(encodeSession));
  send(dropTags, [...changes.retagged]);
  send(
    putTags,
    [...changes.retagged].flatMap((id) => encodeTags(changes.sessions.get(id)!)),
  );
  const runs = [...changes.runs.values()].map(encodeRun);
  send(
    putRuns,
    runs,
    expectAll(runs, () => new IdConflict("This run belongs to another session.")),
  );
  const inputs = [...changes.inputs.values()].map(encodeInput);
  send(
    putInputs,
    inputs,
    expectAll(inputs, () => new IdConflict("This message belongs to another session.")),
  );
  const approvals = [...changes.approvals.values()].map(encodeApproval);
  send(
    putApprovals,
    approvals,
    expectAll(approvals, () => new IdConflict("This approval belongs to another session.")),
  );
  const remembered = [...changes.remembered].map(([session_id, up_to]) => ({ session_id, up_to }));
  send(forgetMarks, remembered);
  send(forgetTries, remembered);
  send(putMarks, [...changes.marks.values()].map(encodeMark));
  send(putMemoryTries, [...changes.memoryTries.values()].map(encodeMemoryTry));
  send(putOutbox, [...changes.outbox.values()].map(encodeOutbox));
  send(putLanes, [...changes.lanes.values()].map(encodeLane));
  send(putUsage, changes.usage);
  const refs = [...changes.refs.values()];
  send(
    addRefs,
    refs,
    expectAll(refs, () => new RetryTransaction("a blob was collected meanwhile")),
  );
  send(putBranches, changes.branches);

  send(putLeases, [...changes.leases.values()].map(encodeLease));
  send(dropLeases, [...changes.released.values()]);
  send(putFences, [...changes.fences.values()]);
  for (const { owner, id, mediaType, bytes } of changes.blobs) {
    sent.push(execute(connection, putBlob, [owner, id, mediaType, bytes.byteLength, now, bytes]));
  }
  await awaitAll(sent);
}

/** Waits for every result, even after one that failed: only then is the connection free again. */
export async function awaitAll<T>(sent: readonly Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(sent);
  return results.map((result) => {
    if (result.status === "rejected") throw result.reason;
    return result.value;
  });
}

function encodeHead({ row, settledUpto }: StoredSession): Row {
  return {
    session_id: row.id,
    head: row.head,
    activity_at: row.activityAt,
    open_deltas: row.openDeltas,
    settled_upto: settledUpto,
  };
}
