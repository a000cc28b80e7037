import type {
  ApprovalRow,
  Commit,
  CommitResult,
  InputRow,
  CommitNeeds,
  MemoryChange,
  RunRow,
} from "@holdfast/engine";
import {
  repeatedCommitResult,
  repeatedInputResult,
  decideCommit,
  type LoadedRows,
  needsOf,
  type Plan,
} from "@holdfast/engine/log";
import {
  type ApprovalId,
  type BlobId,
  type DeliveryId,
  type EventId,
  type MessageId,
  roleOf,
  type RunId,
  seq,
  type SessionId,
} from "@holdfast/protocol";

import type { Connection } from "../connection.ts";
import {
  approvalTable,
  inputTable,
  laneTable,
  markTable,
  memoryTryTable,
  outboxTable,
  rowsOf,
  runTable,
  text,
  usageTable,
} from "../rows.ts";
import { findEvent, type FoundEvent, isOrdered, type LogToSearch } from "../event-ids.ts";
import { appendDelta, appendEvent, decodeEventCells, readChain } from "../events.ts";
import {
  type ChainState,
  encodeRunningHash,
  linkPlan,
  type LinkedPlan,
  noOutput,
} from "../../shared/hash-chain.ts";
import type { CachedSession, SessionCache } from "./group-writer.ts";
import { changeSessionRow, createSessionRow } from "./session-row.ts";

/** The only write primitive, inside the group's transaction: load, decide, write. */
export function writeCommit(
  connection: Connection,
  cache: SessionCache,
  commit: Commit,
  now: number,
): CommitResult {
  const cached = cache.get(connection, commit.session);
  const earlier = cached && findEarlierCommit(connection, cached, commit);
  if (earlier) return earlier;

  const loaded = loadForCommit(connection, cache, cached, commit);
  const decision = decideCommit(loaded, commit, now);
  if (decision.status === "refused") return decision;
  if (decision.status === "repeated") return repeatedInputResult(decision, cached!.row);
  writePlan(connection, cache, cached, decision);
  return decision.result;
}

/** P1: finds a commit that succeeded but whose response got lost, by the ids of its events. */
function findEarlierCommit(
  connection: Connection,
  cached: CachedSession,
  commit: Commit,
): CommitResult | undefined {
  if (cached.row.owner !== commit.owner) return undefined;
  const logged = commit.events.findIndex((event) => roleOf(event) !== "delta");
  const index = Math.max(logged, 0);
  const id = commit.events[index]?.id;
  if (id === undefined) return undefined;
  const found =
    logged === -1
      ? findOpenDelta(connection, cached, id)
      : findEvent(connection, logOf(cached), id);
  if (found === undefined) return undefined;
  const first = { seq: seq.parse(found.seq - index), at: found.at };
  return repeatedCommitResult(commit, first, cached.row);
}

function logOf({ key, row, greatestId }: CachedSession): LogToSearch {
  return { key, head: row.head, greatestId };
}

/** Ids grow, so only one that isn't greater than the newest can have been written before. */
function findOpenDelta(
  connection: Connection,
  { lastDelta, lastDeltaId }: CachedSession,
  id: EventId,
): FoundEvent | undefined {
  if (lastDeltaId === null || id > lastDeltaId) return undefined;
  for (const cells of readChain(connection, lastDelta, 0)) {
    const decoded = decodeEventCells(cells);
    if (decoded.status === "intact" && decoded.event.id === id)
      return { seq: decoded.event.seq, at: decoded.event.at };
  }
  return undefined;
}

function loadForCommit(
  connection: Connection,
  cache: SessionCache,
  cached: CachedSession | null,
  commit: Commit,
): LoadedRows {
  const needs = needsOf(commit);
  const runs = new Map<RunId, RunRow>();
  for (const id of needs.runs) {
    const row = connection.sql(runById).get(id);
    if (row !== undefined) runs.set(id, runTable.decode(row));
  }
  const inputs = new Map<MessageId, InputRow>();
  for (const id of needs.messages) {
    const row = connection.sql(inputByMessage).get(id);
    if (row !== undefined) inputs.set(id, inputTable.decode(row));
  }
  const inputsByClient = new Map<string, InputRow>();
  for (const id of cached === null ? [] : needs.clientIds) {
    const row = connection.sql(inputByClient).get(cached!.key, id);
    if (row !== undefined) inputsByClient.set(id, inputTable.decode(row));
  }
  const blobs = new Set<BlobId>();
  for (const id of needs.blobs) {
    if (connection.sql("SELECT 1 FROM blobs WHERE owner_id = ? AND id = ?").get(commit.owner, id))
      blobs.add(id);
  }
  return {
    session: cached?.row ?? null,
    origin: (needs.origin && cache.get(connection, needs.origin)?.row) ?? null,
    approvals: loadApprovals(connection, cached, needs),
    purged: cached === null && isPurged(connection, commit.session),
    leases: cached?.leases ?? [],
    runs,
    inputs,
    inputsByClient,
    blobs,
    inbound: loadInbound(connection, needs),
  };
}

function loadInbound(
  connection: Connection,
  { inbound }: Pick<CommitNeeds, "inbound">,
): LoadedRows["inbound"] {
  const found = inbound.flatMap((key) => connection.sql(outboxByInbound).all(key));
  return new Map(
    found.map((row) => [
      text(row, "inbound"),
      { session: text<SessionId>(row, "session_id"), delivery: text<DeliveryId>(row, "delivery") },
    ]),
  );
}

function loadApprovals(
  connection: Connection,
  cached: CachedSession | null,
  needs: Pick<CommitNeeds, "approvals" | "openApprovals">,
): ReadonlyMap<ApprovalId, ApprovalRow> {
  const named = needs.approvals.flatMap((id) => connection.sql(approvalById).all(id));
  const open =
    cached !== null && needs.openApprovals ? connection.sql(openApprovals).all(cached.key) : [];
  return new Map([...named, ...open].map(approvalTable.decode).map((row) => [row.id, row]));
}

function isPurged(connection: Connection, id: SessionId): boolean {
  return connection.sql("SELECT 1 FROM purges WHERE session_id = ?").get(id) !== undefined;
}

const runById = `${rowsOf("runs")} WHERE r.id = ?`;
const approvalById = `${rowsOf("approvals")} WHERE r.id = ?`;
const outboxByInbound = `
  SELECT r.inbound, r.delivery, s.id AS session_id FROM outbox r JOIN sessions s ON s.key = r.session_key
   WHERE r.inbound = ?`;
const openApprovals = `${rowsOf("approvals")} WHERE r.session_key = ? AND r.state = 'open'`;
const inputByMessage = `${rowsOf("inputs")} WHERE r.message_id = ?`;
const inputByClient = `${rowsOf("inputs")} WHERE r.session_key = ? AND r.client_id = ?`;

function writePlan(
  connection: Connection,
  cache: SessionCache,
  cached: CachedSession | null,
  plan: Plan,
): void {
  const { session } = plan;
  const key = cached?.key ?? createSessionRow(connection, session);
  const linked = linkPlan(plan, cached?.chain ?? newChain);
  const greatestId = writeLog(connection, key, cached?.greatestId ?? "", linked);
  const lastDelta = writeDeltas(connection, key, cached?.lastDelta ?? null, plan, linked);
  const live = session.liveRun !== null || session.openDeltas > 0;
  writeSessionHead(
    connection,
    { key, lastDelta, live, previous: cached, chain: linked.state },
    plan,
  );

  for (const run of plan.runs) runTable.put(connection, run, key);
  for (const input of plan.inputs) inputTable.put(connection, input, key);
  for (const approval of plan.approvals) approvalTable.put(connection, approval, key);
  for (const change of plan.memory) applyMemoryChange(connection, change, key);
  for (const chunk of plan.outbox) outboxTable.put(connection, chunk, key);
  for (const lane of plan.lanes) laneTable.put(connection, lane, key);
  for (const usage of plan.usage) usageTable.put(connection, usage, key);
  for (const blob of plan.blobs) {
    connection
      .sql("UPDATE blobs SET refs = refs + 1 WHERE owner_id = ? AND id = ?")
      .run(session.owner, blob);
  }
  if (plan.dropsLeases) connection.sql("DELETE FROM leases WHERE session_key = ?").run(key);
  if (plan.created) writeBranch(connection, key, plan);
  cache.set({
    key,
    row: session,
    live,
    chain: linked.state,
    greatestId,
    lastDelta,
    lastDeltaId:
      lastDelta === null ? null : (plan.deltas.at(-1)?.id ?? cached?.lastDeltaId ?? null),
    leases: plan.dropsLeases ? [] : (cached?.leases ?? []),
  });
}

function applyMemoryChange(connection: Connection, change: MemoryChange, key: number): void {
  switch (change.do) {
    case "mark":
      return markTable.put(connection, change.mark, key);
    case "try":
      return memoryTryTable.put(connection, change.trying, key);
    case "forget":
      connection.sql("DELETE FROM marks WHERE session_key = ? AND seq <= ?").run(key, change.upTo);
      connection.sql("DELETE FROM memory_tries WHERE session_key = ?").run(key);
  }
}

const newChain: ChainState = { last: null, output: noOutput };

interface HeadChange {
  readonly key: number;
  readonly live: boolean;
  readonly lastDelta: number | null;
  readonly previous: CachedSession | null;
  readonly chain: ChainState;
}

/**
 * Head and activity of a session with a live run go to `live`. A checkpoint leaves the session's own row alone; it
 * takes them back when the run ends.
 */
function writeSessionHead(
  connection: Connection,
  { key, live, lastDelta, previous, chain: { output } }: HeadChange,
  plan: Plan,
): void {
  const { session } = plan;
  if (live) {
    connection
      .sql(
        `INSERT OR REPLACE INTO live (session_key, head, activity_at, open_deltas, last_delta, output_hash)
         VALUES (?, ?, ?, ?, ?, ?)`,
      )
      .run(
        key,
        session.head,
        session.activityAt,
        session.openDeltas,
        lastDelta,
        output === null || output.count === 0 ? null : encodeRunningHash(output),
      );
  } else if (previous?.live) {
    connection.sql("DELETE FROM live WHERE session_key = ?").run(key);
  }
  if (previous === null || (live && plan.checkpoint)) return;
  changeSessionRow(connection, key, previous.row, session);
}

/** Returns the greatest ordered id. */
function writeLog(
  connection: Connection,
  key: number,
  greatestBefore: string,
  { log }: LinkedPlan,
): string {
  let greatestId = greatestBefore;
  for (const event of log) {
    const { row } = event;
    const ordered = isOrdered(row, greatestId);
    // The index compares it with the other unordered ones only.
    if (!ordered && findEvent(connection, { key, head: row.seq, greatestId }, row.id))
      throw new Error(`The log already has an event ${row.id}.`);
    appendEvent(connection, key, { ...event, isOrdered: ordered });
    if (ordered) greatestId = row.id;
  }
  return greatestId;
}

/** Deltas before a settlement in the same commit are settled by it; those after it start a new chain. */
function writeDeltas(
  connection: Connection,
  key: number,
  lastDelta: number | null,
  plan: Plan,
  { deltas }: LinkedPlan,
): number | null {
  let last = lastDelta;
  const settledCount = plan.settles ? deltas.length - plan.session.openDeltas : 0;
  for (const [index, row] of deltas.entries()) {
    if (plan.settles && index === settledCount) last = settleChain(connection, key, last);
    last = appendDelta(connection, key, last, row);
  }
  return plan.settles && plan.session.openDeltas === 0 ? settleChain(connection, key, last) : last;
}

function settleChain(connection: Connection, key: number, last: number | null): null {
  if (last !== null) connection.sql("INSERT INTO settled_chains VALUES (?, ?)").run(last, key);
  return null;
}

function writeBranch(connection: Connection, key: number, { session }: Plan): void {
  const upToByLog = new Map<string, number>();
  for (const { log, to } of session.ranges) {
    if (log !== undefined && to !== null) upToByLog.set(log, Math.max(to, upToByLog.get(log) ?? 0));
  }
  for (const [log, upto] of upToByLog)
    connection.sql("INSERT INTO branches VALUES (?, ?, ?)").run(log, key, upto);
}
