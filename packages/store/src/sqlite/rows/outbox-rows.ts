import type { OutboxRow } from "@holdfast/engine";
import {
  type ApprovalId,
  type DeliveryId,
  deliveryKind,
  type LaneKey,
  outboxState,
  type RunId,
  type Seq,
  type SessionId,
} from "@holdfast/protocol";

import { int, intOrNull, defineTable, text, textOrNull } from "./columns.ts";
import type { Row } from "../connection.ts";

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
