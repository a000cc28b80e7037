import { z } from "zod";

import { blobId, callId, laneKey, messageId, noticeId, runId, seq, sessionId } from "../ids.ts";
import { jsonObject, skillMark } from "../parts.ts";
import { sessionMode } from "../rights/session-mode.ts";
import { taintSources } from "../rights/taint.ts";
import { defineEvent, settledDeltas } from "./define.ts";

/** Where a title comes from; a weaker source never replaces a stronger one. */
export const titleSource = z.enum(["derived", "generated", "chosen"]);
export type TitleSource = z.infer<typeof titleSource>;

/** A range of visible log. `to: null` is open: appended events are visible. `log` names another session's log. */
export const seqRange = z.looseObject({
  from: seq,
  to: seq.nullable(),
  log: sessionId.optional(),
});
export type SeqRange = z.infer<typeof seqRange>;

/** What the list shows after a cut, as counted by whoever made it. */
const visibleAfter = {
  ranges: z.array(seqRange),
  messageCount: z.int().nonnegative(),
  preview: z.string(),
};

/** One of several versions of a turn that an edit or a retry made. At most one of them is in view. */
export const alternative = z.looseObject({
  /** The message that the turn begins with. */
  messageId,
  /** Absent while that message waits in the inbox. */
  seq: seq.optional(),
  /** The event that took it out of view last. Its `before` says how the conversation was then. */
  left: seq.optional(),
});
export type Alternative = z.infer<typeof alternative>;

/**
 * How the model's context starts: its system prompt and its tools byte for byte, each stored once for all sessions that
 * use it.
 */
export const contextFrame = z.looseObject({
  system: blobId,
  tools: blobId,
  /** Signature of the inputs of both; while it is the same, the session keeps the bytes it has. */
  signature: z.string().min(1).max(200),
  /** Which renderer turns entries into messages: a session keeps the one it started with. */
  rendering: z.int().positive(),
});
export type ContextFrame = z.infer<typeof contextFrame>;

/** Names a persona for good, whatever it is called. */
export const personaId = z.string().regex(/^[a-z0-9-]{1,40}$/u);

const titleText = z.string().min(1).max(300);
const tag = z.string().min(1).max(60);

/** What a person may set on a session. `null` clears. */
export const sessionSettings = z.looseObject({
  title: titleText.optional(),
  titleSource: titleSource.optional(),
  model: z.string().min(1).max(200).nullable().optional(),
  workspace: z.string().min(1).max(4096).nullable().optional(),
  pinned: z.boolean().optional(),
  archived: z.boolean().optional(),
  project: z.string().min(1).max(120).nullable().optional(),
  tags: z.array(tag).max(50).optional(),
  /** What runs without asking. It never changes back to not being set: the model has been told of it. */
  mode: sessionMode.optional(),
  /** The id of a persona; the default one if it is not set. */
  persona: personaId.nullable().optional(),
});
export type SessionSettings = z.infer<typeof sessionSettings>;

/** What one run may use of its own. */
export const runBudget = z.looseObject({
  steps: z.int().positive().optional(),
  tokens: z.int().positive().optional(),
  /** Millionths of a dollar. */
  costMicros: z.int().positive().optional(),
  timeMs: z.int().positive().optional(),
});
export type RunBudget = z.infer<typeof runBudget>;

export const reasoningEffort = z.enum(["low", "medium", "high"]);
export type ReasoningEffort = z.infer<typeof reasoningEffort>;

/** The call that gave this session its task, and the sessions above it, nearest first. */
export const parentLink = z.looseObject({
  sessionId,
  runId,
  callId,
  above: z.array(sessionId).max(20).optional(),
});
export type ParentLink = z.infer<typeof parentLink>;

/** What a child works by, kept as it was when its task was given. */
export const childBrief = z.looseObject({
  /** The agent profile, if it was given to one. */
  profile: z
    .looseObject({
      name: z.string().min(1).max(64),
      /** Of the file's content. */
      hash: z.string(),
      /** Stands in the place of the persona. */
      prompt: z.string(),
    })
    .optional(),
  effort: reasoningEffort.optional(),
  /** Once some of it is used up, the child is told to conclude. */
  budget: runBudget.optional(),
});
export type ChildBrief = z.infer<typeof childBrief>;

/** When an imported conversation began and when something was last said in it, in milliseconds. */
const importedTimes = z.looseObject({
  from: z.int().nonnegative().optional(),
  to: z.int().nonnegative().optional(),
});

export const sessionEvents = [
  defineEvent(
    "session.created",
    1,
    "meta",
    sessionSettings.extend({
      /** It keeps the times that it had where it came from. */
      imported: importedTimes.optional(),
      /** A branch reads everything below its start from the log it left. */
      origin: z.looseObject({ sessionId, seq }).optional(),
      ranges: z.array(seqRange).optional(),
      parent: parentLink.optional(),
      child: childBrief.optional(),
      messageCount: visibleAfter.messageCount.optional(),
      preview: visibleAfter.preview.optional(),
    }),
  ),
  defineEvent(
    "session.changed",
    1,
    "meta",
    sessionSettings.extend({ imported: importedTimes.optional() }),
  ),
  defineEvent("session.trashed", 1, "meta", z.looseObject({})),
  defineEvent("session.restored", 1, "meta", z.looseObject({})),
  // The log of an older version becomes verifiable from here on, and what came before is hashed as a whole.
  defineEvent(
    "chain.began",
    1,
    "passing",
    z.looseObject({
      salt: z.string().min(1).max(100),
      digest: z.string().min(1).max(100),
      /** How many events the digest covers. */
      events: z.int().nonnegative(),
    }),
  ),
  defineEvent("lane.bound", 1, "passing", z.looseObject({ lane: laneKey })),
  defineEvent(
    "history.cut",
    1,
    "entry",
    z.looseObject({
      reason: z.enum(["undo", "retry", "edit", "truncate", "clear"]),
      ...visibleAfter,
      /** What was visible until now: a redo brings it back. */
      before: z.looseObject(visibleAfter).optional(),
      /** The message that an edit or a retry replaces, and the accepted one that becomes its alternative. */
      replaces: z.looseObject({ messageId, seq, by: messageId }).optional(),
    }),
  ),
  defineEvent(
    "history.restored",
    1,
    "entry",
    z.looseObject({
      ...visibleAfter,
      /** An alternative was chosen, or an edit was undone; absent for a redo. */
      cause: z.enum(["switch", "undo"]).optional(),
      before: z.looseObject(visibleAfter).optional(),
    }),
  ),
  // P9: only this event changes how the context starts, and it says why.
  defineEvent(
    "context.framed",
    1,
    "entry",
    z.looseObject({ frame: contextFrame, cause: z.string().min(1).max(100) }),
  ),
  defineEvent(
    "context.compacted",
    1,
    "entry",
    z.looseObject({
      epoch: z.int().positive(),
      /** The first and the last entry the summary covers. Everything before and after stays. */
      covers: z.looseObject({ from: seq, to: seq }),
      summary: z.string(),
      blobId: blobId.optional(),
      /** What a stranger may have written of what it covers. */
      taint: taintSources.optional(),
      /** What the context starts with from here on, so that nobody has to search below. */
      frame: contextFrame.optional(),
      /** The instructions of skills that were activated in what it covers. Without a text: left out for lack of room. */
      skills: z.array(skillMark.extend({ text: z.string().optional() })).optional(),
    }),
  ),
  defineEvent(
    "context.epoch",
    1,
    "entry",
    z.looseObject({
      /** Epochs are numbered: every change of how the context starts has its own number. */
      epoch: z.int().nonnegative(),
      /** The epoch that applies again; 0 is the whole conversation. */
      restores: z.int().nonnegative().optional(),
      /** The seq of that epoch's `context.compacted`. */
      at: seq.optional(),
    }),
  ),
  defineEvent(
    "notice.added",
    1,
    "entry",
    z.looseObject({
      noticeId,
      kind: z.string(),
      text: z.string(),
      details: jsonObject.optional(),
      /** Output that was dropped because its producer starts again. */
      deltas: settledDeltas,
    }),
  ),
  defineEvent(
    "notice.changed",
    1,
    "entry",
    z.looseObject({ noticeId, kind: z.string(), text: z.string(), details: jsonObject.optional() }),
  ),
] as const;
