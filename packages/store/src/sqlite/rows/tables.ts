import { z } from "zod";
import type {
  ApprovalRow,
  InputRow,
  LaneRow,
  LeaseRow,
  RunRow,
  UsageRow,
  MarkRow,
  MemoryChange,
  MemoryTryRow,
  OutboxRow,
  RegisterRow,
  RequestRow,
} from "@holdfast/engine";
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
  type DeliveryId,
  deliveryKind,
  outboxState,
} from "@holdfast/protocol";
import { holderSchema } from "../../identity.ts";
import { bool, int, intOrNull, defineTable, text, textOrNull } from "./columns.ts";
import type { Row, Connection } from "../connection.ts";

/** Rows refer to their session by key; reads add its id as `session_id`. */
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

export const outboxTable = defineTable<OutboxRow>(
  "outbox",
  ["session_key", "delivery", "chunk"],
  {
    session_key: (_, key) => key,
    delivery: (row) => row.delivery,
    chunk: (row) => row.chunk,
    kind: (row) => row.kind,
    lane: (row) => row.lane,
    run_id: (row) => row.runId,
    approval_id: (row) => row.approvalId,
    inbound: (row) => row.inbound,
    reply_to: (row) => row.replyTo,
    text: (row) => row.text,
    begun: (row) => row.begun,
    state: (row) => row.state,
    sent_from: (row) => row.from,
    sent_to: (row) => row.to,
    platform_id: (row) => row.platformId,
    attempts: (row) => row.attempts,
    retry_at: (row) => row.retryAt,
    code: (row) => row.code,
    message: (row) => row.message,
    at: (row) => row.at,
  },
  ["inbound"],
);

export function decodeOutbox(row: Row): OutboxRow {
  return {
    session: text<SessionId>(row, "session_id"),
    delivery: text<DeliveryId>(row, "delivery"),
    chunk: int(row, "chunk"),
    kind: deliveryKind.parse(row["kind"]),
    lane: text<LaneKey>(row, "lane"),
    runId: textOrNull<RunId>(row, "run_id"),
    approvalId: textOrNull<ApprovalId>(row, "approval_id"),
    inbound: textOrNull(row, "inbound"),
    replyTo: textOrNull(row, "reply_to"),
    text: textOrNull(row, "text"),
    begun: int(row, "begun") as Seq,
    state: outboxState.parse(row["state"]),
    from: int(row, "sent_from"),
    to: int(row, "sent_to"),
    platformId: textOrNull(row, "platform_id"),
    attempts: int(row, "attempts"),
    retryAt: intOrNull(row, "retry_at"),
    code: textOrNull(row, "code"),
    message: textOrNull(row, "message"),
    at: int(row, "at"),
  };
}

export const registerByKey = "SELECT * FROM register WHERE owner_id = ? AND key = ?";

export function decodeRegister(row: Row): RegisterRow {
  return {
    owner: text<OwnerId>(row, "owner_id"),
    key: text(row, "key"),
    value: text(row, "value"),
    revision: int(row, "revision"),
    at: int(row, "at"),
  };
}

export const requestByKey = `
  SELECT r.owner_id, r.key, r.hash, s.id AS session_id, r.answer, r.at
    FROM requests r LEFT JOIN sessions s ON s.key = r.session_key
   WHERE r.owner_id = ? AND r.key = ? AND r.at > ?`;

export function decodeRequest(row: Row): RequestRow {
  return {
    owner: text<OwnerId>(row, "owner_id"),
    key: text(row, "key"),
    hash: text(row, "hash"),
    session: textOrNull<SessionId>(row, "session_id"),
    answer: text(row, "answer"),
    at: int(row, "at"),
  };
}
