import { z } from "zod";

import { approvalAnswer, approvalText } from "../events/run.ts";
import { approvalId, runId, sessionId } from "../ids.ts";
import { planMode } from "../rights/session-mode.ts";
import { defineRoute } from "./define.ts";
import { limitText, pageCursor } from "./fields.ts";
import { idempotencyHeader } from "./sessions.ts";
import { approvalView, auditEntry, grantView, ruleView, runView } from "./views.ts";

const run = z.strictObject({ id: runId });
const withRun = z.looseObject({ run: runView });

export const runRoutes = {
  readRun: defineRoute({
    method: "GET",
    path: "/api/runs/:id",
    summary: "Read a run",
    access: "principal",
    params: run,
    answer: { media: "json", status: 200, schema: withRun },
    problems: ["run_not_found"],
    repeat: "safe",
  }),
  // P6: a durable request; repeating it is not an error.
  cancelRun: defineRoute({
    method: "POST",
    path: "/api/runs/:id/cancel",
    summary: "Ask for a run's end",
    access: "principal",
    params: run,
    headers: idempotencyHeader,
    answer: { media: "json", status: 202, schema: withRun },
    problems: ["run_not_found"],
    repeat: "key",
  }),
  resumeRun: defineRoute({
    method: "POST",
    path: "/api/runs/:id/resume",
    summary: "Go on with a run that was paused, or continue an ended one in a new run",
    access: "principal",
    params: run,
    headers: idempotencyHeader,
    answer: { media: "json", status: 202, schema: withRun },
    problems: ["run_not_found", "run_live", "run_ended", "head_moved", "session_trashed"],
    repeat: "key",
  }),
  listApprovals: defineRoute({
    method: "GET",
    path: "/api/approvals",
    summary: "The approvals that wait for an answer, oldest first",
    access: "principal",
    query: z.strictObject({
      sessionId: sessionId.optional(),
      limit: limitText.optional(),
      cursor: pageCursor.optional(),
    }),
    answer: {
      media: "json",
      status: 200,
      schema: z.looseObject({
        approvals: z.array(approvalView),
        nextCursor: z.string().nullable(),
      }),
    },
    problems: [],
    repeat: "safe",
  }),
  answerApproval: defineRoute({
    method: "POST",
    path: "/api/approvals/:id",
    summary: "Answer an approval",
    access: "principal",
    params: z.strictObject({ id: approvalId }),
    headers: idempotencyHeader,
    body: z.strictObject({
      decision: approvalAnswer,
      /** The answer to a question, which can only be denied without one; or why a call is denied, for the model. */
      answer: approvalText.optional(),
      /** Approves a plan and switches its session to this mode. Any other answer to a plan is a comment on it. */
      mode: planMode.optional(),
      /** What `session` and `always` cover; by default the narrowest rule offered. */
      rule: z.string().min(1).max(2_000).optional(),
      /** How long `session` and `always` hold; by default until they are revoked. */
      lastsSeconds: z.int().min(60).max(31_536_000).optional(),
    }),
    example: { decision: "once" },
    answer: { media: "json", status: 200, schema: z.looseObject({ approval: approvalView }) },
    problems: ["approval_not_found", "approval_answered"],
    repeat: "key",
  }),
  listRules: defineRoute({
    method: "GET",
    path: "/api/rules",
    summary: "What was allowed for good",
    access: "principal",
    answer: { media: "json", status: 200, schema: z.looseObject({ rules: z.array(ruleView) }) },
    problems: [],
    repeat: "safe",
  }),
  removeRule: defineRoute({
    method: "DELETE",
    path: "/api/rules/:id",
    summary: "Take back what was allowed for good; from then on it is asked for again",
    access: "principal",
    params: z.strictObject({ id: approvalId }),
    answer: { media: "none", status: 204 },
    problems: ["rule_not_found"],
    repeat: "safe",
  }),
  listGrants: defineRoute({
    method: "GET",
    path: "/api/grants",
    summary: "What is allowed for a whole session, newest first",
    access: "principal",
    query: z.strictObject({
      sessionId: sessionId.optional(),
      limit: limitText.optional(),
      cursor: pageCursor.optional(),
    }),
    answer: {
      media: "json",
      status: 200,
      schema: z.looseObject({ grants: z.array(grantView), nextCursor: z.string().nullable() }),
    },
    problems: [],
    repeat: "safe",
  }),
  revokeGrant: defineRoute({
    method: "DELETE",
    path: "/api/grants/:id",
    summary: "Revoke what was allowed for a session; from then on people are asked again",
    access: "principal",
    params: z.strictObject({ id: approvalId }),
    answer: { media: "none", status: 204 },
    problems: ["grant_not_found"],
    repeat: "safe",
  }),
  listAudit: defineRoute({
    method: "GET",
    path: "/api/audit",
    summary: "Who allowed what, when, and with which rule, newest first",
    access: "principal",
    query: z.strictObject({
      /** Also includes what ran by a rule in this session. */
      sessionId: sessionId.optional(),
      limit: limitText.optional(),
      cursor: pageCursor.optional(),
    }),
    answer: {
      media: "json",
      status: 200,
      schema: z.looseObject({ entries: z.array(auditEntry), nextCursor: z.string().nullable() }),
    },
    problems: ["session_not_found"],
    repeat: "safe",
  }),
} as const;
