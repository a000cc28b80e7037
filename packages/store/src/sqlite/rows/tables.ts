import type { ApprovalRow, InputRow, LaneRow, LeaseRow, RunRow, UsageRow } from "@holdfast/engine";
import {
  approvalDecision,
  approvalDetails,
  type ApprovalId,
  attachment,
  type CallId,
  type Fence,
  inputMode,
  json,
  type LaneKey,
  type MessageId,
  type OwnerId,
  type RunId,
  runState,
  type Seq,
  type SessionId,
} from "@holdfast/protocol";
import { z } from "zod";

import { holderSchema } from "../../identity.ts";
import { bool, int, intOrNull, defineTable, text, textOrNull } from "./columns.ts";
import type { Row } from "../connection.ts";

/** Rows name their session by its key and are read together with its id, as `session_id`. */
export const runsTable = defineTable<RunRow>("runs", ["id"], {
  id: (run) => run.id,
  session_key: (_, key) => key,
  state: (run) => run.state,
  cause: (run) => run.cause,
  attempt: (run) => run.attempt,
  step: (run) => run.step,
  cancel_requested: (run) => Number(run.cancelRequested),
  continues: (run) => run.continues,
  created_at: (run) => run.createdAt,
  started_at: (run) => run.startedAt,
  ended_at: (run) => run.endedAt,
  journal_from: (run) => run.journalFrom,
  tries: (run) => run.tries,
  rests_since: (run) => run.restsSince,
  rested_ms: (run) => run.restedMs,
});

export function decodeRun(row: Row): RunRow {
  return {
    id: text<RunId>(row, "id"),
    session: text<SessionId>(row, "session_id"),
    state: runState.parse(row["state"]),
    cause: textOrNull(row, "cause"),
    attempt: int(row, "attempt"),
    step: int(row, "step"),
    cancelRequested: bool(row, "cancel_requested"),
    continues: textOrNull<RunId>(row, "continues"),
    createdAt: int(row, "created_at"),
    startedAt: intOrNull(row, "started_at"),
    endedAt: intOrNull(row, "ended_at"),
    journalFrom: int(row, "journal_from") as Seq,
    tries: int(row, "tries"),
    restsSince: intOrNull(row, "rests_since"),
    restedMs: int(row, "rested_ms"),
  };
}

export const inputsTable = defineTable<InputRow>("inputs", ["message_id"], {
  message_id: (input) => input.messageId,
  session_key: (_, key) => key,
  client_id: (input) => input.clientId,
  hash: (input) => input.hash,
  run_id: (input) => input.runId,
  seq: (input) => input.seq,
  mode: (input) => input.mode,
  state: (input) => input.state,
  lane: (input) => input.lane,
  at: (input) => input.at,
  content: (input) => input.content && JSON.stringify(input.content),
});

const inputState = z.enum(["queued", "taken", "removed"]);
const inputContent = z.object({ text: z.string(), attachments: z.array(attachment) });

export function decodeInput(row: Row): InputRow {
  const content = textOrNull(row, "content");
  return {
    messageId: text<MessageId>(row, "message_id"),
    session: text<SessionId>(row, "session_id"),
    clientId: text(row, "client_id"),
    hash: text(row, "hash"),
    runId: text<RunId>(row, "run_id"),
    seq: int(row, "seq") as Seq,
    mode: inputMode.parse(row["mode"]),
    state: inputState.parse(row["state"]),
    lane: textOrNull<LaneKey>(row, "lane"),
    at: int(row, "at"),
    content: content === null ? null : inputContent.parse(JSON.parse(content)),
  };
}

export const approvalsTable = defineTable<ApprovalRow>("approvals", ["id"], {
  id: (approval) => approval.id,
  session_key: (_, key) => key,
  owner_id: (approval) => approval.owner,
  run_id: (approval) => approval.runId,
  call_id: (approval) => approval.callId,
  tool: (approval) => approval.tool,
  input: (approval) => JSON.stringify(approval.input),
  input_hash: (approval) => approval.inputHash,
  asked_at: (approval) => approval.askedAt,
  expires_at: (approval) => approval.expiresAt,
  state: (approval) => approval.state,
  decision: (approval) => approval.decision,
  answered_at: (approval) => approval.answeredAt,
  details: (approval) => JSON.stringify(approval.details),
});

const approvalState = z.enum(["open", "answered", "withdrawn"]);

export function decodeApproval(row: Row): ApprovalRow {
  return {
    id: text<ApprovalId>(row, "id"),
    session: text<SessionId>(row, "session_id"),
    owner: text<OwnerId>(row, "owner_id"),
    runId: text<RunId>(row, "run_id"),
    callId: text<CallId>(row, "call_id"),
    tool: text(row, "tool"),
    input: json.parse(JSON.parse(text(row, "input"))),
    inputHash: text(row, "input_hash"),
    askedAt: int(row, "asked_at"),
    expiresAt: int(row, "expires_at"),
    state: approvalState.parse(row["state"]),
    decision: approvalDecision.nullable().parse(row["decision"]),
    answeredAt: intOrNull(row, "answered_at"),
    details: approvalDetails.parse(JSON.parse(text(row, "details"))),
  };
}

export const lanesTable = defineTable<LaneRow>("lanes", ["owner_id", "lane"], {
  owner_id: (lane) => lane.owner,
  lane: (lane) => lane.lane,
  session_key: (_, key) => key,
  at: (lane) => lane.at,
});

export function decodeLane(row: Row): LaneRow {
  return {
    owner: text<OwnerId>(row, "owner_id"),
    lane: text<LaneKey>(row, "lane"),
    session: text<SessionId>(row, "session_id"),
    at: int(row, "at"),
  };
}

export const usageTable = defineTable<UsageRow>("usage", ["session_id", "seq"], {
  session_id: (usage) => usage.session,
  seq: (usage) => usage.seq,
  run_id: (usage) => usage.runId,
  owner_id: (usage) => usage.owner,
  at: (usage) => usage.at,
  model: (usage) => usage.model,
  input: (usage) => usage.input,
  output: (usage) => usage.output,
  cache_read: (usage) => usage.cacheRead,
  cache_write: (usage) => usage.cacheWrite,
  cost_micros: (usage) => usage.costMicros,
});

export function decodeUsage(row: Row): UsageRow {
  return {
    session: text<SessionId>(row, "session_id"),
    seq: int(row, "seq") as Seq,
    runId: textOrNull<RunId>(row, "run_id"),
    owner: text<OwnerId>(row, "owner_id"),
    at: int(row, "at"),
    model: text(row, "model"),
    input: int(row, "input"),
    output: int(row, "output"),
    cacheRead: int(row, "cache_read"),
    cacheWrite: int(row, "cache_write"),
    costMicros: int(row, "cost_micros"),
  };
}

export const leasesTable = defineTable<LeaseRow>("leases", ["session_key", "kind"], {
  session_key: (_, key) => key,
  kind: (lease) => lease.kind,
  fence: (lease) => lease.fence,
  holder: (lease) => JSON.stringify(lease.holder),
  expires_at: (lease) => lease.expiresAt,
});

const leaseKind = z.enum(["run", "compaction", "memory", "history", "outbox"]);

export function decodeLease(row: Row): LeaseRow {
  return {
    kind: leaseKind.parse(row["kind"]),
    session: text<SessionId>(row, "session_id"),
    fence: int(row, "fence") as Fence,
    holder: holderSchema.parse(JSON.parse(text(row, "holder"))),
    expiresAt: int(row, "expires_at"),
  };
}
