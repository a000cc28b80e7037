import { z } from "zod";

import { blobId, callId, laneKey, noticeId, runId, seq, sessionId } from "../ids.ts";
import { jsonObject } from "../parts.ts";
import { defineEvent, settledDeltas } from "./define.ts";

/** Where a title comes from; a weaker source never replaces a stronger one. */
export const titleSource = z.enum(["derived", "generated", "chosen"]);
export type TitleSource = z.infer<typeof titleSource>;

/** A stretch of visible log. `to: null` is open: what is appended is visible. `log` names another session's log. */
export const seqRange = z.looseObject({
  from: seq,
  to: seq.nullable(),
  log: sessionId.optional(),
});
export type SeqRange = z.infer<typeof seqRange>;

/** What the list shows after a cut; the one who cuts has counted what stays visible. */
const visibleAfter = {
  ranges: z.array(seqRange),
  messageCount: z.int().nonnegative(),
  preview: z.string(),
};

/** How the model's context begins: its system prompt and its tools in their exact bytes, each stored once for all who use it. */
export const contextFrame = z.looseObject({
  system: blobId,
  tools: blobId,
  /** Of what the two were made from; as long as it is the same, the session keeps the bytes that it has. */
  signature: z.string().min(1).max(200),
  /** Which renderer turns entries into messages: a session keeps the one that it began with. */
  rendering: z.int().positive(),
});
export type ContextFrame = z.infer<typeof contextFrame>;

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
});
export type SessionSettings = z.infer<typeof sessionSettings>;

/** The call that a session's task was given by, and the sessions above that one, the nearest first. */
export const parentLink = z.looseObject({
  sessionId,
  runId,
  callId,
  above: z.array(sessionId).max(20).optional(),
});
export type ParentLink = z.infer<typeof parentLink>;

export const sessionEvents = [
  defineEvent(
    "session.created",
    1,
    "meta",
    sessionSettings.extend({
      /** A branch reads what stands below its beginning from the log that it left. */
      origin: z.looseObject({ sessionId, seq }).optional(),
      ranges: z.array(seqRange).optional(),
      parent: parentLink.optional(),
      messageCount: visibleAfter.messageCount.optional(),
      preview: visibleAfter.preview.optional(),
    }),
  ),
  defineEvent("session.changed", 1, "meta", sessionSettings),
  defineEvent("session.trashed", 1, "meta", z.looseObject({})),
  defineEvent("session.restored", 1, "meta", z.looseObject({})),
  defineEvent("lane.bound", 1, "passing", z.looseObject({ lane: laneKey })),
  defineEvent(
    "history.cut",
    1,
    "entry",
    z.looseObject({
      reason: z.enum(["undo", "retry", "edit", "truncate", "clear"]),
      ...visibleAfter,
      /** What was visible until now: what a redo brings back. */
      before: z.looseObject(visibleAfter).optional(),
    }),
  ),
  defineEvent("history.restored", 1, "entry", z.looseObject({ ...visibleAfter })),
  // P9: what begins the context changes by this event alone, and it says why.
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
      /** The first and the last entry that the summary stands for. What is before and behind them stays as it is. */
      covers: z.looseObject({ from: seq, to: seq }),
      summary: z.string(),
      blobId: blobId.optional(),
      /** What the context begins with from here on, so that nobody has to look for it below. */
      frame: contextFrame.optional(),
    }),
  ),
  defineEvent(
    "context.epoch",
    1,
    "entry",
    z.looseObject({
      /** Epochs are counted: whatever changes how the context begins has a number of its own. */
      epoch: z.int().nonnegative(),
      /** The epoch that applies again; 0 is the whole conversation. */
      restores: z.int().nonnegative().optional(),
      /** Where the `context.compacted` of that epoch stands. */
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
      /** Output that was dropped, because what wrote it begins again. */
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
