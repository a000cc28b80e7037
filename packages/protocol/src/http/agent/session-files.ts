import { z } from "zod";

import { seq } from "../../ids.ts";
import { unsavedReason } from "../../parts.ts";
import { defineRoute } from "../define.ts";
import { countText, seqText } from "../fields.ts";
import { idempotencyHeader, sessionParams } from "../sessions.ts";
import { sessionView } from "../views.ts";

/** Whether a change of the history also brings the files to how they were then. By default they stay. */
export const filesChoice = z.enum(["keep", "restore"]).optional();

/**
 * Why a file was left as it is. `changed`: not by this conversation, since or in between. `lost`: what it was is not
 * saved here any more. `failed`: it could not be read or written.
 */
export const keptReason = z.enum(["changed", "lost", "failed"]);
export type KeptReason = z.infer<typeof keptReason>;

/** A file that the conversation changed in a part of the log. */
export const changedFileView = z.looseObject({
  path: z.string(),
  change: z.enum(["created", "changed", "deleted"]),
  /** What an undo would do with it now: put it back, nothing because it is as it was, or leave it, and why. */
  undo: z.enum(["restore", "none", ...keptReason.options]),
  /** A unified diff; empty if it is too large or no text. */
  diff: z.string(),
});
export type ChangedFileView = z.infer<typeof changedFileView>;

/** What an undo of files does not take back. */
export const lastingEffect = z.looseObject({
  kind: z.enum(["network", "background", "sent", "remembered", "delegated", "tool"]),
  /** The tool that did it. */
  tool: z.string(),
  /** The command, the file or the hosts, shortened. */
  text: z.string(),
});
export type LastingEffect = z.infer<typeof lastingEffect>;

/** What was done with the files. */
export const filesRestored = z.looseObject({
  /** The first of them; `count` is of all. */
  restored: z.array(z.string()),
  count: z.int().nonnegative(),
  kept: z.array(z.looseObject({ path: z.string(), reason: keptReason })),
  /** Why changes may be missing from both. */
  missing: z.array(unsavedReason).optional(),
  /** What is not taken back. */
  effects: z.array(lastingEffect).optional(),
});
export type FilesRestored = z.infer<typeof filesRestored>;

export const fileChangesView = z.looseObject({
  /** The log after this event was looked at: undo brings the files to how they were here. */
  from: seq,
  files: z.array(changedFileView),
  /** Changed files beyond the most that are listed. */
  more: z.int().nonnegative(),
  /** Why changes may be missing from the list. */
  missing: z.array(unsavedReason),
  notSaved: z.array(z.looseObject({ path: z.string(), reason: unsavedReason })),
  effects: z.array(lastingEffect),
});
export type FileChangesView = z.infer<typeof fileChangesView>;

const conditions = { expectedHead: seq.optional(), interrupt: z.boolean().optional() };
const refusals = [
  "session_not_found",
  "session_trashed",
  "head_moved",
  "run_live",
  "history_live",
  "cancel_pending",
  "files_unavailable",
] as const;
const common = {
  access: "principal",
  params: sessionParams,
} as const;
const changed = z.looseObject({ session: sessionView, seq, files: filesRestored });

export const sessionFileRoutes = {
  readFileChanges: defineRoute({
    ...common,
    method: "GET",
    path: "/api/sessions/:id/files/changes",
    summary: "The files that a turn changed, the last one unless told, and what an undo would do",
    query: z.strictObject({
      /** Changes after this event, and up to `to`. */
      from: seqText.optional(),
      to: seqText.optional(),
      /** In place of both: so many turns, counted from the end. */
      turns: countText.optional(),
    }),
    answer: { media: "json", status: 200, schema: fileChangesView },
    problems: ["session_not_found", "nothing_to_undo", "files_unavailable"],
    repeat: "safe",
  }),
  undoFiles: defineRoute({
    ...common,
    method: "POST",
    path: "/api/sessions/:id/files/undo",
    summary: "Put the files back as they were before the last turns; the conversation stays",
    body: z.strictObject({ ...conditions, turns: z.int().min(1).max(1000).optional() }),
    headers: idempotencyHeader,
    answer: { media: "json", status: 200, schema: changed },
    problems: [...refusals, "nothing_to_undo"],
    repeat: "key",
  }),
  redoFiles: defineRoute({
    ...common,
    method: "POST",
    path: "/api/sessions/:id/files/redo",
    summary: "Revert what the last undo did to the files; the conversation stays",
    body: z.strictObject(conditions),
    headers: idempotencyHeader,
    answer: { media: "json", status: 200, schema: changed },
    problems: [...refusals, "nothing_to_redo"],
    repeat: "key",
  }),
} as const;
