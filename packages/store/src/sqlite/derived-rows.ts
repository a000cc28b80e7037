import type { Holder, InputRow, LaneRow, LeaseRow, RunRow, UsageRow } from "@holdfast/engine";
import {
  attachment,
  fence,
  inputMode,
  laneKey,
  messageId,
  ownerId,
  runId,
  runState,
  seq,
  sessionId,
} from "@holdfast/protocol";
import { z } from "zod";

import type { Connection, Row } from "./connection.ts";
import { flag } from "./session-row.ts";

/** Inserts a row, or updates the one with the same key: never a silent replacement of a row with another key. */
function upsert(table: string, keys: readonly string[], rest: readonly string[]): string {
  const columns = [...keys, ...rest];
  const changes = rest.map((column) => `${column} = excluded.${column}`);
  return `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})
    ON CONFLICT (${keys.join(", ")}) DO UPDATE SET ${changes.join(", ")}`;
}

const runShape = z.object({
  id: runId,
  session_id: sessionId,
  state: runState,
  cause: z.string().nullable(),
  attempt: z.int(),
  step: z.int(),
  cancel_requested: flag,
  continues: runId.nullable(),
  created_at: z.int(),
  started_at: z.int().nullable(),
  ended_at: z.int().nullable(),
  journal_from: seq,
});

export function decodeRun(row: Row): RunRow {
  const run = runShape.parse(row);
  return {
    id: run.id,
    session: run.session_id,
    state: run.state,
    cause: run.cause,
    attempt: run.attempt,
    step: run.step,
    cancelRequested: run.cancel_requested,
    continues: run.continues,
    createdAt: run.created_at,
    startedAt: run.started_at,
    endedAt: run.ended_at,
    journalFrom: run.journal_from,
  };
}

const putRun = upsert(
  "runs",
  ["id"],
  [
    ...["session_key", "state", "cause", "attempt", "step", "cancel_requested", "continues"],
    ...["created_at", "started_at", "ended_at", "journal_from"],
  ],
);

export function writeRun(connection: Connection, key: number, run: RunRow): void {
  connection
    .sql(putRun)
    .run(
      ...[run.id, key, run.state, run.cause, run.attempt, run.step, Number(run.cancelRequested)],
      ...[run.continues, run.createdAt, run.startedAt, run.endedAt, run.journalFrom],
    );
}

const inputShape = z.object({
  message_id: messageId,
  session_id: sessionId,
  client_id: z.string(),
  hash: z.string(),
  run_id: runId,
  seq,
  mode: inputMode,
  state: z.enum(["queued", "taken", "removed"]),
  lane: laneKey.nullable(),
  at: z.int(),
  content: z.string().nullable(),
});
const inputContent = z.object({ text: z.string(), attachments: z.array(attachment) });

export function decodeInput(row: Row): InputRow {
  const input = inputShape.parse(row);
  return {
    messageId: input.message_id,
    session: input.session_id,
    clientId: input.client_id,
    hash: input.hash,
    runId: input.run_id,
    seq: input.seq,
    mode: input.mode,
    state: input.state,
    lane: input.lane,
    at: input.at,
    content: input.content === null ? null : inputContent.parse(JSON.parse(input.content)),
  };
}

const putInput = upsert(
  "inputs",
  ["message_id"],
  ["session_key", "client_id", "hash", "run_id", "seq", "mode", "state", "lane", "at", "content"],
);

export function writeInput(connection: Connection, key: number, input: InputRow): void {
  connection
    .sql(putInput)
    .run(
      ...[input.messageId, key, input.clientId, input.hash, input.runId, input.seq, input.mode],
      ...[input.state, input.lane, input.at, input.content && JSON.stringify(input.content)],
    );
}

const laneShape = z.object({
  owner_id: ownerId,
  lane: laneKey,
  session_id: sessionId,
  at: z.int(),
});

export function decodeLane(row: Row): LaneRow {
  const lane = laneShape.parse(row);
  return { owner: lane.owner_id, lane: lane.lane, session: lane.session_id, at: lane.at };
}

const putLane = upsert("lanes", ["owner_id", "lane"], ["session_key", "at"]);

export function writeLane(connection: Connection, key: number, lane: LaneRow): void {
  connection.sql(putLane).run(lane.owner, lane.lane, key, lane.at);
}

const usageShape = z.object({
  session_id: sessionId,
  seq,
  run_id: runId.nullable(),
  owner_id: ownerId,
  at: z.int(),
  model: z.string(),
  input: z.int(),
  output: z.int(),
  cache_read: z.int(),
  cache_write: z.int(),
  cost_micros: z.int(),
});

export function decodeUsage(row: Row): UsageRow {
  const { session_id, run_id, owner_id, cache_read, cache_write, cost_micros, ...rest } =
    usageShape.parse(row);
  return {
    ...rest,
    session: session_id,
    runId: run_id,
    owner: owner_id,
    cacheRead: cache_read,
    cacheWrite: cache_write,
    costMicros: cost_micros,
  };
}

const putUsage = upsert(
  "usage",
  ["session_id", "seq"],
  [
    ...["run_id", "owner_id", "at", "model", "input", "output"],
    ...["cache_read", "cache_write", "cost_micros"],
  ],
);

export function writeUsage(connection: Connection, usage: UsageRow): void {
  connection
    .sql(putUsage)
    .run(
      ...[usage.session, usage.seq, usage.runId, usage.owner, usage.at, usage.model, usage.input],
      ...[usage.output, usage.cacheRead, usage.cacheWrite, usage.costMicros],
    );
}

const holder: z.ZodType<Holder> = z.object({
  host: z.string(),
  boot: z.string().nullable(),
  pidNamespace: z.string().nullable(),
  pid: z.int(),
  processStart: z.string().nullable(),
  thread: z.int(),
  agent: z.string(),
  nonce: z.string(),
});
const leaseShape = z.object({
  kind: z.enum(["run", "compaction", "memory"]),
  session_id: sessionId,
  fence,
  holder: z.string(),
  expires_at: z.int(),
});

const putLease = upsert("leases", ["session_key", "kind"], ["fence", "holder", "expires_at"]);

export function writeLease(connection: Connection, key: number, lease: LeaseRow): void {
  connection
    .sql(putLease)
    .run(key, lease.kind, lease.fence, JSON.stringify(lease.holder), lease.expiresAt);
}

export function decodeLease(row: Row): LeaseRow {
  const lease = leaseShape.parse(row);
  return {
    kind: lease.kind,
    session: lease.session_id,
    fence: lease.fence,
    holder: holder.parse(JSON.parse(lease.holder)),
    expiresAt: lease.expires_at,
  };
}
