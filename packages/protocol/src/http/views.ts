import { z } from "zod";

import {
  approvalDecision,
  approvalDetails,
  askedDetails,
  clientId,
  inputMode,
  partialCause,
  runState,
} from "../events/run.ts";
import { approvedFile, callDecision } from "../events/decision.ts";
import { alternative, parentLink, titleSource } from "../events/session.ts";
import {
  approvalId,
  blobId,
  callId,
  laneKey,
  messageId,
  noticeId,
  ownerId,
  runId,
  seq,
  sessionId,
} from "../ids.ts";
import { sessionMode } from "../rights/session-mode.ts";
import { attachment, json, jsonObject, part, toolDetails, toolOutcome } from "../parts.ts";

/** Milliseconds of the store's clock. */
export const instant = z.int().nonnegative();
const count = z.int().nonnegative();

export const sessionView = z.looseObject({
  id: sessionId,
  owner: ownerId,
  title: z.string().nullable(),
  titleSource: titleSource.nullable(),
  model: z.string().nullable(),
  workspace: z.string().nullable(),
  pinned: z.boolean(),
  archived: z.boolean(),
  project: z.string().nullable(),
  tags: z.array(z.string()),
  /** What runs without asking; `null` or absent: it was never set, which is `ask`. */
  mode: sessionMode.nullable().optional(),
  /** The persona that it has chosen; `null` or absent: the default one. */
  persona: z.string().nullable().optional(),
  /** Where a branch left its origin. */
  origin: z.looseObject({ sessionId, seq }).optional(),
  /** The call that gave this session its task; present in a session read, not in lists. */
  parent: parentLink.optional(),
  /** Each turn that was edited or retried, with its versions, oldest first; in a session read, not in lists. */
  alternatives: z.array(z.array(alternative)).optional(),
  /** How many entry events its log has. */
  version: count,
  /** How many meta events its log has: the value for `If-Match`. */
  revision: count,
  /** The seq of its newest event. */
  head: seq,
  /** What the model's context starts with; 0 before the first compaction. */
  epoch: count,
  createdAt: instant,
  activityAt: instant,
  /** The position in the list. */
  sortAt: instant,
  trashedAt: instant.nullable(),
  preview: z.string(),
  messageCount: count,
  /** The run that was claimed and has not ended. */
  liveRun: runId.nullable(),
  liveState: runState.nullable(),
  /** How the last run ended. */
  lastState: runState.nullable(),
});
export type SessionView = z.infer<typeof sessionView>;

/** One version of a turn. */
export const alternativeView = z.looseObject({
  /** The message that it begins with, which names it. */
  messageId,
  seq,
  at: instant,
  text: z.string(),
  /** How its answer begins; empty if it has none. */
  answer: z.string(),
  /** Which model answered. */
  model: z.string().nullable(),
  /** Whether it is the one in view. */
  inView: z.boolean(),
  /** The event that took it out of view last. Its files were then as it left them. */
  left: seq.optional(),
});
export type AlternativeView = z.infer<typeof alternativeView>;

const entryPosition = {
  seq,
  at: instant,
  runId: runId.optional(),
};

export const messageEntry = z.looseObject({
  ...entryPosition,
  type: z.literal("message"),
  role: z.enum(["user", "assistant", "tool"]),
  messageId,
  parts: z.array(part),
  clientId: clientId.optional(),
  lane: laneKey.optional(),
  model: z.string().optional(),
  partial: partialCause.optional(),
  /** A late entry: it goes directly above this notice, whatever its seq. */
  above: noticeId.optional(),
  /** Another attempt has replaced it: shown, but not sent to the model. */
  superseded: z.literal(true).optional(),
});
export const noticeEntry = z.looseObject({
  ...entryPosition,
  type: z.literal("notice"),
  noticeId,
  kind: z.string(),
  text: z.string(),
  details: jsonObject.optional(),
});
export const compactionEntry = z.looseObject({
  ...entryPosition,
  type: z.literal("compaction"),
  epoch: z.int().positive(),
  covers: z.looseObject({ from: seq, to: seq }),
  summary: z.string(),
  blobId: blobId.optional(),
});
/** An earlier epoch was restored. */
export const epochEntry = z.looseObject({
  ...entryPosition,
  type: z.literal("epoch"),
  epoch: count,
});

/** One row of the conversation as a person sees it. */
export const entryView = z.discriminatedUnion("type", [
  messageEntry,
  noticeEntry,
  compactionEntry,
  epochEntry,
]);
export type EntryView = z.infer<typeof entryView>;
export type MessageEntry = z.infer<typeof messageEntry>;
export type NoticeEntry = z.infer<typeof noticeEntry>;

export const runView = z.looseObject({
  id: runId,
  sessionId,
  state: runState,
  /** A stable code, for a state that needs a reason. */
  cause: z.string().nullable(),
  attempt: count,
  /** 0 before the first step. */
  step: count,
  /** Somebody asked to cancel it. */
  cancelRequested: z.boolean(),
  continues: runId.nullable(),
  startedAt: instant.nullable(),
  endedAt: instant.nullable(),
});
export type RunView = z.infer<typeof runView>;

/** Accepted, durable, and not yet part of the conversation. */
export const inboxItem = z.looseObject({
  seq,
  acceptedAt: instant,
  messageId,
  runId,
  clientId,
  mode: inputMode,
  lane: laneKey.optional(),
  text: z.string(),
  attachments: z.array(attachment),
});
export type InboxItem = z.infer<typeof inboxItem>;

export const livePart = z.looseObject({
  part: count,
  kind: z.enum(["text", "reasoning"]),
  text: z.string(),
});
export const liveMessage = z.looseObject({
  messageId,
  startedAt: instant,
  parts: z.array(livePart),
});
export const liveTool = z.looseObject({
  callId,
  resultId: messageId,
  name: z.string(),
  input: json,
  replay: z.enum(["never", "safe"]),
  startedAt: instant,
  output: z.string(),
  blobId: blobId.optional(),
  details: toolDetails.optional(),
  /** `null` while it runs. */
  outcome: toolOutcome.nullable(),
  endedAt: instant.nullable(),
});
export const liveApproval = z.looseObject({
  approvalId,
  callId,
  name: z.string(),
  input: json,
  inputHash: z.string(),
  askedAt: instant,
  ...askedDetails.shape,
});

/** The folded journal of the running step: what is shown of it before it settles. Absent if no run is live. */
export const liveView = z.looseObject({
  runId,
  messages: z.array(liveMessage),
  tools: z.array(liveTool),
  approvals: z.array(liveApproval),
});
export type LiveView = z.infer<typeof liveView>;
export type LiveMessage = z.infer<typeof liveMessage>;
export type LiveTool = z.infer<typeof liveTool>;

/** Everything a page shows of a session, from one snapshot; follow with `after: seq`. */
export const sessionRead = z.looseObject({
  session: sessionView,
  entries: z.array(entryView),
  run: runView.nullable(),
  inbox: z.array(inboxItem),
  seq,
  live: liveView.nullable(),
  /** Pass it as `before` to get the entries above these; `null` at the start. */
  earlier: seq.nullable(),
});
export type SessionRead = z.infer<typeof sessionRead>;

export const approvalView = z.looseObject({
  ...liveApproval.shape,
  sessionId,
  runId,
  expiresAt: instant,
  /** `withdrawn`: its run ended, or its session was trashed, before anybody answered. */
  state: z.enum(["open", "answered", "withdrawn"]),
  decision: approvalDecision.nullable(),
  answeredAt: instant.nullable(),
  ...approvalDetails.pick({ answer: true, rule: true, by: true, lastsMs: true, revokedAt: true })
    .shape,
});
export type ApprovalView = z.infer<typeof approvalView>;

/** A rule a person has allowed permanently. */
export const ruleView = z.looseObject({
  /** The approval it was created with. */
  id: approvalId,
  rule: z.string(),
  sessionId,
  by: z.string(),
  madeAt: instant,
  /** When it ends by itself, if it does. */
  until: instant.optional(),
  /** The files that its command loads. It is asked again if one of these has changed. */
  files: z.array(approvedFile).optional(),
  /** It allows nothing any more: it covered more than a person can be shown. */
  tooWide: z.literal(true).optional(),
});
export type RuleView = z.infer<typeof ruleView>;

/** A yes for a session that covers more than its call. */
export const grantView = z.looseObject({
  /** The approval it was given with. */
  id: approvalId,
  sessionId,
  tool: z.string(),
  /** What it covers; without a rule, exactly the same call. */
  rule: z.string().optional(),
  shown: z.string().optional(),
  by: z.string().optional(),
  madeAt: instant,
  /** When it ends by itself, if it does. */
  until: instant.optional(),
  files: z.array(approvedFile).optional(),
});
export type GrantView = z.infer<typeof grantView>;

/** Who allowed or denied what, when, and by which rule. */
export const auditEntry = callDecision.extend({
  at: instant,
  sessionId,
  runId,
  callId,
  tool: z.string(),
  /** `ran`: nobody was asked, since a rule covered it. */
  what: z.enum([...approvalDecision.options, "ran"]),
  shown: z.string().optional(),
  rule: z.string().optional(),
  by: z.string().optional(),
  /** The mode that applied when it was asked or run; absent for `ask`. */
  mode: sessionMode.optional(),
});
export type AuditEntry = z.infer<typeof auditEntry>;

export const blobView = z.looseObject({
  blobId,
  size: count,
  mediaType: z.string(),
});

export const searchHit = z.looseObject({
  sessionId,
  title: z.string().nullable(),
  seq,
  messageId: messageId.optional(),
  at: instant,
  /** It is in a version of a message that is out of view: `switchAlternative` with this one shows it. */
  alternative: messageId.optional(),
  /** Plain text around the match; `marks` are `[start, end)` offsets in it. */
  snippet: z.string(),
  marks: z.array(z.tuple([count, count])),
});
export type SearchHitView = z.infer<typeof searchHit>;
