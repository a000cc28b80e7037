import { z } from "zod";
import {
  approvalId,
  callId,
  fence,
  laneKey,
  messageId,
  noticeId,
  runId,
  seq,
  eventId,
} from "../ids.ts";
import {
  attachedPart,
  attachment,
  json,
  jsonObject,
  part,
  quotedRanges,
  toolOutcome,
  toolResultFields,
} from "../parts.ts";
import { rights } from "../rights/rights.ts";
import { sessionMode } from "../rights/session-mode.ts";
import { approvedFile, callDecision, decisionFields } from "./decision.ts";
import { taintSources } from "../rights/taint.ts";
import { defineEvent, settledDeltas } from "./define.ts";
import { inbound } from "./outbox.ts";

export const runState = z.enum([
  "queued",
  "claimed",
  "running",
  "waiting",
  "paused",
  "completed",
  "cancelled",
  "failed",
  "interrupted",
  "limit",
]);
export type RunState = z.infer<typeof runState>;

export const terminalStates: ReadonlySet<RunState> = new Set([
  "completed",
  "cancelled",
  "failed",
  "interrupted",
  "limit",
]);

export const inputMode = z.enum(["queue", "steer", "interrupt"]);
export type InputMode = z.infer<typeof inputMode>;

/** A client's own id for its message, unique in a session forever. */
export const clientId = z
  .string()
  .regex(/^[\x21-\x7e]{1,128}$/, "expected 1 to 128 printable characters");

const inputContent = {
  text: z.string(),
  attachments: z.array(attachment).optional(),
  /** What of the text the sender did not write. */
  quoted: quotedRanges.optional(),
};

const messageContent = { messageId, parts: z.array(part) };

/** A person's answer to an approval: once, from now on in this session, from now on anywhere, or no. */
export const approvalAnswer = z.enum(["once", "session", "always", "deny"]);
export type ApprovalAnswer = z.infer<typeof approvalAnswer>;
/** Anything longer is not an answer to a question. */
export const approvalText = z.string().min(1).max(10_000);
const askedFields = {
  /** A question has no effect of its own: it only asks for an answer. */
  kind: z.literal("question").optional(),
  /** Where the call would work on the host that asked, if that matters. */
  place: z.string().optional(),
  /** The name of that place on every host, which is part of what is approved. Older approvals have only the place. */
  workspace: z.string().optional(),
  /** Exactly what would be done, in words, with invisible characters made visible. */
  shown: z.string().optional(),
  /** Rules that would cover it, narrowest first. */
  rules: z.array(z.string()).optional(),
  /** What the call would load. It is asked again if one of these has changed by the time it runs. */
  files: z.array(approvedFile).optional(),
  /** What the tool was when this was asked, if it may change behind its name. */
  identity: z.string().optional(),
  /** What else the person should know, such as what has changed since it was allowed. */
  notes: z.array(z.string()).optional(),
  /** An earlier approval of the same call, whose yes no longer counts because something has changed. */
  replaces: approvalId.optional(),
  /** How many characters were too much to show. It cannot be allowed then. */
  hidden: z.int().positive().optional(),
  /** An operator's rule asks each time: no answer covers another call. */
  onceOnly: z.literal(true).optional(),
  ...decisionFields,
  /** The mode that applied when it was asked; absent for `ask`. */
  mode: sessionMode.optional(),
  /** A question whose answer may approve a plan and so switch the session's mode. */
  plan: z.literal(true).optional(),
  /** A question of a call that goes on meanwhile. */
  inCall: z.literal(true).optional(),
};
/** What an `approval.asked` tells of its call besides the call itself. */
export const askedDetails = z.object(askedFields);
const answerFields = {
  answer: approvalText.optional(),
  /** What was allowed beyond this one call. */
  rule: z.string().optional(),
  /** Who answered. */
  by: z.string().optional(),
  /** How long a yes that covers more than this call holds, from the answer on; without it, until it is revoked. */
  lastsMs: z.int().positive().optional(),
};
/** What an `approval.answered` tells besides the decision. */
export const answeredDetails = z.object(answerFields);
/** What is known of an approval beyond its call: what the person is shown, and how they answered. */
export const approvalDetails = z.looseObject({
  ...askedFields,
  ...answerFields,
  /** When it was revoked, if it covered more than its call. */
  revokedAt: z.int().nonnegative().optional(),
});
export type ApprovalDetails = z.infer<typeof approvalDetails>;

/** How the approval was decided. `expired`: nobody answered in time, which counts as a no. */
export const approvalDecision = z.enum([...approvalAnswer.options, "expired"]);
export type ApprovalDecision = z.infer<typeof approvalDecision>;

/**
 * What the model was sent for an answer, block by block: a hash for each block that the previous request did not have.
 * P9: if it does not extend that request, the first block that differs and the event that explains it.
 */
export const requestRecord = z.looseObject({
  /** The blocks before this one are those of the previous request. */
  from: z.int().nonnegative(),
  hashes: z.array(z.string()),
  differs: z
    .looseObject({
      block: z.int().nonnegative(),
      explainedBy: z.looseObject({ seq, type: z.string() }).optional(),
    })
    .optional(),
});
export type RequestRecord = z.infer<typeof requestRecord>;

/** Why a message ends before its model was done. */
export const partialCause = z.enum(["cancelled", "interrupted", "failed", "limit"]);

/** Where the runner spills its model's output while the store is away, and the fence that names its file there. */
export const spillMark = z.looseObject({ place: z.string().min(1).max(64), fence });
export type SpillMark = z.infer<typeof spillMark>;

/**
 * An entry found after its run was given up goes directly above the notice it names, whatever its seq, and is visible
 * only where that notice is. One that another attempt has superseded is not sent to the model.
 */
const lateEntryFields = {
  above: noticeId.optional(),
  superseded: z.literal(true).optional(),
};

export const runEvents = [
  defineEvent(
    "input.accepted",
    1,
    "passing",
    z.looseObject({
      messageId,
      runId,
      clientId,
      /** Of text, attachments and mode: the same client id with another hash is a conflict. */
      hash: z.string(),
      mode: inputMode,
      lane: laneKey.optional(),
      /** It came from a platform: its answer is delivered to the lane. */
      inbound: inbound.optional(),
      /** Without text: the run continues where this one ended. */
      continues: runId.optional(),
      /** What it may cause at most; by default what its lane may. */
      rights: rights.optional(),
      /** What its text was derived from, if a stranger may have written that. */
      taint: taintSources.optional(),
      /** What the model gets alongside it: a client's instructions, or its own account of the conversation. */
      attached: z.array(attachedPart).max(20).optional(),
      ...inputContent,
    }),
  ),
  defineEvent("input.changed", 1, "passing", z.looseObject({ messageId, ...inputContent })),
  defineEvent("input.removed", 1, "passing", z.looseObject({ messageId })),
  defineEvent(
    "run.state",
    1,
    "passing",
    z.looseObject({
      state: runState,
      /** A stable code, for a state that needs a reason. */
      cause: z.string().optional(),
      attempt: z.int().nonnegative().optional(),
      /** How long it waits before the model is called again. */
      retryMs: z.int().nonnegative().optional(),
      continues: runId.optional(),
    }),
  ),
  /** A runner gave up its run, and its spill has no file: whoever takes over has nothing to wait for. */
  defineEvent("run.released", 1, "passing", z.looseObject({ emptySpill: spillMark })),
  defineEvent("run.cancel", 1, "passing", z.looseObject({ by: z.string().optional() })),
  defineEvent(
    "step.started",
    1,
    "passing",
    z.looseObject({
      step: z.int().positive(),
      model: z.string(),
      /** How often this step was tried before. */
      try: z.int().positive().optional(),
      spill: spillMark.optional(),
    }),
  ),
  defineEvent(
    "message.delta",
    1,
    "delta",
    z.looseObject({
      messageId,
      text: z.string(),
      kind: z.enum(["text", "reasoning"]).optional(),
      /** Which part of the message grows; by default the first. */
      part: z.int().nonnegative().optional(),
      /** What the part's provider wants back unchanged. */
      opaque: jsonObject.optional(),
    }),
  ),
  defineEvent(
    "tool.started",
    1,
    "passing",
    z.looseObject({
      callId,
      resultId: messageId,
      name: z.string(),
      input: json,
      replay: z.enum(["never", "safe"]),
      /** Which rule or approval allowed it, if one had to. */
      allowedBy: z.string().optional(),
      decided: callDecision.optional(),
      /** The mode that applied; absent for `ask`. */
      mode: sessionMode.optional(),
      /** What a stranger may have written of its output. */
      taint: taintSources.optional(),
      snapshot: z.string().max(200).optional(),
      spill: spillMark.optional(),
    }),
  ),
  defineEvent("tool.output", 1, "delta", z.looseObject({ callId, text: z.string() })),
  defineEvent(
    "tool.ended",
    1,
    "passing",
    z.looseObject({
      callId,
      resultId: messageId,
      outcome: toolOutcome,
      output: z.string(),
      ...toolResultFields,
      taint: taintSources.optional(),
    }),
  ),
  defineEvent(
    "usage.recorded",
    1,
    "passing",
    z.looseObject({
      model: z.string(),
      input: z.int().nonnegative(),
      output: z.int().nonnegative(),
      cacheRead: z.int().nonnegative().optional(),
      cacheWrite: z.int().nonnegative().optional(),
      /** Millionths of a dollar, so that sums stay exact. */
      costMicros: z.int().nonnegative().optional(),
      /** The rights profile that it was spent under, if its rights are limited. */
      profile: z.string().min(1).max(1_000).optional(),
      /** When it was used, if that was elsewhere. */
      usedAt: z.int().nonnegative().optional(),
    }),
  ),
  defineEvent(
    "approval.asked",
    1,
    "passing",
    z.looseObject({
      approvalId,
      callId,
      name: z.string(),
      input: json,
      /**
       * Over what is approved: the name, the input, the workspace (or the place if there is none), what is shown, the
       * files and the tool's identity. Older approvals hash only the first three.
       */
      inputHash: z.string(),
      ...askedFields,
    }),
  ),
  defineEvent(
    "approval.answered",
    1,
    "passing",
    z.looseObject({
      approvalId,
      decision: approvalDecision,
      ...answerFields,
    }),
  ),
  /** A yes that covered more than its call covers nothing from here on. */
  defineEvent(
    "approval.revoked",
    1,
    "passing",
    z.looseObject({ approvalId, by: z.string().optional() }),
  ),
  defineEvent(
    "message.user",
    1,
    "entry",
    z.looseObject({
      ...messageContent,
      clientId: clientId.optional(),
      lane: laneKey.optional(),
      /**
       * What the run may do from here on: the rights of this message, and of those before it in the run. Absent where
       * nothing is limited.
       */
      rights: rights.optional(),
    }),
  ),
  defineEvent(
    "message.assistant",
    1,
    "entry",
    z.looseObject({
      ...messageContent,
      model: z.string().optional(),
      partial: partialCause.optional(),
      /** The seqs of the deltas this message settles; a reader inside them takes the message instead. */
      deltas: settledDeltas,
      request: requestRecord.optional(),
      /** `[ms, characters]` for each group of deltas, for replay. */
      timing: z.array(z.tuple([z.int(), z.int()])).optional(),
      ...lateEntryFields,
    }),
  ),
  defineEvent(
    "message.tool",
    1,
    "entry",
    z.looseObject({ ...messageContent, deltas: settledDeltas, ...lateEntryFields }),
  ),
] as const;

/** The wordings of the one notice that a run leaves when its runner dies. */
const recoveryKinds = ["recovering", "host_away", "recovered", "nothing_recovered"] as const;
export type RecoveryKind = (typeof recoveryKinds)[number];

/** What a "recovering" notice records, so that its next reader can continue the search. Removed once it is decided. */
const pendingRecovery = z.looseObject({
  spill: spillMark,
  /** How often a journal was found that had ended without output. */
  tries: z.int().nonnegative(),
  /** By the store's clock. */
  firstSeen: z.int().nonnegative(),
  /** The last output the store had: whatever a journal repeats up to here is known. */
  upTo: eventId.optional(),
  /** The run continued without it. */
  resumed: z.literal(true).optional(),
  /** Its home has not been heard of for a while, and the notice says so. */
  isAway: z.literal(true).optional(),
  /** Tools that had started and have no recorded end. */
  tools: z
    .array(z.looseObject({ callId, resultId: messageId, name: z.string(), input: json }))
    .optional(),
});
export type PendingRecovery = z.infer<typeof pendingRecovery>;

const recoveryDetails = z.looseObject({ runId, recovery: pendingRecovery });

/** What still has to be searched for, if the details of a notice say so. */
export function pendingRecoveryIn(details: unknown): z.infer<typeof recoveryDetails> | undefined {
  return recoveryDetails.safeParse(details).data;
}

/** The kinds of notices that wait for something that may never come, until a person stops it. */
const waitingKinds = ["recovering", "host_away", "memory_waiting"];
export const waitingNoticeKinds: ReadonlySet<string> = new Set(waitingKinds);
