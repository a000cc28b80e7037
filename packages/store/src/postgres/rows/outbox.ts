import type { OutboxRow } from "@holdfast/engine";
import {
  approvalId,
  deliveryId,
  deliveryKind,
  laneKey,
  outboxState,
  runId,
  seq,
  sessionId,
} from "@holdfast/protocol";
import { z } from "zod";

import type { Row } from "../connection.ts";

const outboxShape = z.object({
  session_id: sessionId,
  delivery: deliveryId,
  chunk: z.int(),
  kind: deliveryKind,
  lane: laneKey,
  run_id: runId.nullable(),
  approval_id: approvalId.nullable(),
  inbound: z.string().nullable(),
  reply_to: z.string().nullable(),
  text: z.string().nullable(),
  begun: seq,
  state: outboxState,
  sent_from: z.int(),
  sent_to: z.int(),
  platform_id: z.string().nullable(),
  attempts: z.int(),
  retry_at: z.int().nullable(),
  code: z.string().nullable(),
  message: z.string().nullable(),
  at: z.int(),
});

export function decodeOutbox(stored: Row): OutboxRow {
  const { session_id, run_id, approval_id, reply_to, sent_from, sent_to, ...row } =
    outboxShape.parse(stored);
  const { platform_id, retry_at, ...rest } = row;
  return {
    ...rest,
    session: session_id,
    runId: run_id,
    approvalId: approval_id,
    replyTo: reply_to,
    from: sent_from,
    to: sent_to,
    platformId: platform_id,
    retryAt: retry_at,
  };
}

export function encodeOutbox(row: OutboxRow): Row {
  const { session, runId: run, approvalId: approval, replyTo, from, to, ...others } = row;
  const { platformId, retryAt, ...rest } = others;
  return {
    ...rest,
    session_id: session,
    run_id: run,
    approval_id: approval,
    reply_to: replyTo,
    sent_from: from,
    sent_to: to,
    platform_id: platformId,
    retry_at: retryAt,
  };
}
