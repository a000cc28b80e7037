import type { ApprovalRow } from "@holdfast/engine";
import {
  approvalDecision,
  approvalDetails,
  approvalId,
  callId,
  json,
  ownerId,
  runId,
  sessionId,
} from "@holdfast/protocol";
import { z } from "zod";

import type { Row } from "../connection.ts";

const approvalShape = z.object({
  id: approvalId,
  session_id: sessionId,
  owner_id: ownerId,
  run_id: runId,
  call_id: callId,
  tool: z.string(),
  input: z.string(),
  input_hash: z.string(),
  asked_at: z.int(),
  expires_at: z.int(),
  state: z.enum(["open", "answered", "withdrawn"]),
  decision: approvalDecision.nullable(),
  answered_at: z.int().nullable(),
  details: z.string(),
});

export function decodeApproval(row: Row): ApprovalRow {
  const approval = approvalShape.parse(row);
  return {
    id: approval.id,
    session: approval.session_id,
    owner: approval.owner_id,
    runId: approval.run_id,
    callId: approval.call_id,
    tool: approval.tool,
    input: json.parse(JSON.parse(approval.input)),
    inputHash: approval.input_hash,
    askedAt: approval.asked_at,
    expiresAt: approval.expires_at,
    state: approval.state,
    decision: approval.decision,
    answeredAt: approval.answered_at,
    details: approvalDetails.parse(JSON.parse(approval.details)),
  };
}

export function encodeApproval(approval: ApprovalRow): Row {
  return {
    id: approval.id,
    session_id: approval.session,
    owner_id: approval.owner,
    run_id: approval.runId,
    call_id: approval.callId,
    tool: approval.tool,
    // Text, because `jsonb` rejects some of what models write.
    input: JSON.stringify(approval.input),
    input_hash: approval.inputHash,
    asked_at: approval.askedAt,
    expires_at: approval.expiresAt,
    state: approval.state,
    decision: approval.decision,
    answered_at: approval.answeredAt,
    details: JSON.stringify(approval.details),
  };
}
