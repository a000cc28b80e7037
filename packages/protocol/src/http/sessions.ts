import { z } from "zod";

import { personaId } from "../events/session.ts";
import { clientId, inputMode } from "../events/run.ts";
import { laneKey, messageId, noticeId, runId, seq, sessionId } from "../ids.ts";
import { attachment, quotedRanges } from "../parts.ts";
import { sessionMode } from "../rights/session-mode.ts";
import { defineRoute } from "./define.ts";
import { flagText, idempotencyKey, limitText, pageCursor, revisionTag, seqText } from "./fields.ts";
import { sessionRead, sessionView } from "./views.ts";

export const sessionParams = z.strictObject({ id: sessionId });
export const idempotencyHeader = z.object({ "idempotency-key": idempotencyKey.optional() });

export const title = z
  .string()
  .max(300)
  .refine((text) => text.trim() !== "", "expected words");
const model = z.string().min(1).max(200);
const workspace = z.string().min(1).max(4096);
/** A name that git takes, without what would have to be quoted. */
const worktreeBranch = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._/-]{0,99}$/u, "expected a name for a branch");
const text = z.string().max(1_000_000);
const attachments = z.array(attachment).max(50);
const withSession = z.looseObject({ session: sessionView });

/** What a person may change. `null` clears. */
export const sessionPatch = z.strictObject({
  title: title.optional(),
  model: model.nullable().optional(),
  workspace: workspace.nullable().optional(),
  pinned: z.boolean().optional(),
  archived: z.boolean().optional(),
  project: z.string().min(1).max(120).nullable().optional(),
  tags: z.array(z.string().min(1).max(60)).max(50).optional(),
  mode: sessionMode.optional(),
  persona: personaId.nullable().optional(),
});

export const acceptedInput = z.looseObject({ messageId, runId, seq });

export const sessionRoutes = {
  createSession: defineRoute({
    method: "POST",
    path: "/api/sessions",
    summary: "Begin a session",
    access: "principal",
    headers: idempotencyHeader,
    body: z.strictObject({
      lane: laneKey.optional(),
      title: title.optional(),
      model: model.optional(),
      workspace: workspace.optional(),
      /** It works in a worktree of the repository in `workspace`, on a branch of its own. */
      worktree: z.strictObject({ branch: worktreeBranch.optional() }).optional(),
      mode: sessionMode.optional(),
      tags: sessionPatch.shape.tags,
      persona: personaId.optional(),
      /** By its name. What the project says is used where nothing else is named. */
      project: z.string().min(1).max(120).optional(),
      /** The session the lane leaves: its turns are committed to memory. */
      previousSessionId: sessionId.optional(),
    }),
    example: { title: "A first session" },
    answer: { media: "json", status: 201, schema: withSession },
    problems: [
      "session_not_found",
      "model_unknown",
      "model_unusable",
      "mode_too_wide",
      "persona_not_found",
      "worktree_unavailable",
    ],
    repeat: "key",
  }),
  listSessions: defineRoute({
    method: "GET",
    path: "/api/sessions",
    summary: "List sessions, newest first",
    access: "principal",
    query: z.strictObject({
      limit: limitText.optional(),
      cursor: pageCursor.optional(),
      q: z.string().min(1).max(200).optional(),
      archived: flagText.optional(),
      trashed: flagText.optional(),
      pinned: flagText.optional(),
      project: z.string().min(1).max(120).optional(),
      tag: z.string().min(1).max(60).optional(),
      /** As the sessions name it: for a folder, its path. */
      workspace: workspace.optional(),
    }),
    answer: {
      media: "json",
      status: 200,
      schema: z.looseObject({ sessions: z.array(sessionView), nextCursor: z.string().nullable() }),
    },
    problems: [],
    repeat: "safe",
  }),
  readSession: defineRoute({
    method: "GET",
    path: "/api/sessions/:id",
    summary: "Read a session: its newest entries, its run, its inbox and what is being written",
    access: "principal",
    params: sessionParams,
    query: z.strictObject({ before: seqText.optional(), limit: limitText.optional() }),
    answer: { media: "json", status: 200, schema: sessionRead },
    problems: ["session_not_found"],
    repeat: "safe",
  }),
  changeSession: defineRoute({
    method: "PATCH",
    path: "/api/sessions/:id",
    summary: "Change a session's title, flags or settings",
    access: "principal",
    params: sessionParams,
    headers: z.object({ "if-match": revisionTag.optional() }),
    body: sessionPatch,
    example: { title: "A better title", tags: ["work"] },
    answer: { media: "json", status: 200, schema: withSession },
    problems: [
      "session_not_found",
      "session_trashed",
      "revision_conflict",
      "model_unknown",
      "model_unusable",
      "mode_too_wide",
      "persona_not_found",
    ],
    repeat: "never",
  }),
  trashSession: defineRoute({
    method: "DELETE",
    path: "/api/sessions/:id",
    summary: "Put a session in the trash; a run that is live is cancelled",
    access: "principal",
    params: sessionParams,
    answer: { media: "json", status: 200, schema: withSession },
    problems: ["session_not_found", "head_moved", "compaction_live"],
    repeat: "safe",
  }),
  restoreSession: defineRoute({
    method: "POST",
    path: "/api/sessions/:id/restore",
    summary: "Bring a session back from the trash",
    access: "principal",
    params: sessionParams,
    headers: idempotencyHeader,
    answer: { media: "json", status: 200, schema: withSession },
    problems: ["session_not_found", "session_not_trashed"],
    repeat: "key",
  }),
  stopWaiting: defineRoute({
    method: "POST",
    path: "/api/sessions/:id/stop-waiting",
    summary:
      "Stop waiting for the output of a stopped host or for a missing memory provider. Output that arrives later is still added",
    access: "principal",
    params: sessionParams,
    headers: idempotencyHeader,
    /** The one notice that is meant; by default all that wait. */
    body: z.strictObject({ noticeId: noticeId.optional() }),
    example: {},
    answer: {
      media: "json",
      status: 200,
      /** 0: nothing waited, or it was decided meanwhile. */
      schema: z.looseObject({ session: sessionView, settled: z.int().nonnegative() }),
    },
    problems: ["session_not_found", "session_trashed"],
    repeat: "key",
  }),
  sendMessage: defineRoute({
    method: "POST",
    path: "/api/sessions/:id/messages",
    summary: "Send a message; it is durable once this is answered",
    access: "principal",
    params: sessionParams,
    body: z.strictObject({
      clientId,
      text,
      attachments: attachments.optional(),
      mode: inputMode.optional(),
      lane: laneKey.optional(),
      /** What of the text was pasted or forwarded. Memory keeps nothing of it. */
      quoted: quotedRanges.optional(),
    }),
    example: { clientId: "from-the-docs", text: "Hello" },
    answer: { media: "json", status: 202, schema: acceptedInput },
    problems: ["session_not_found", "session_trashed", "idempotency_conflict", "blob_not_found"],
    // `clientId` identifies the message for the session's lifetime.
    repeat: "safe",
  }),
  changeInput: defineRoute({
    method: "PATCH",
    path: "/api/sessions/:id/inbox/:messageId",
    summary: "Rewrite a message that is still waiting",
    access: "principal",
    params: z.strictObject({ id: sessionId, messageId }),
    body: z.strictObject({
      text,
      attachments: attachments.optional(),
      quoted: quotedRanges.optional(),
    }),
    example: { text: "In other words" },
    answer: { media: "json", status: 200, schema: z.looseObject({ seq }) },
    problems: ["session_not_found", "message_not_found", "input_claimed", "blob_not_found"],
    repeat: "safe",
  }),
  removeInput: defineRoute({
    method: "DELETE",
    path: "/api/sessions/:id/inbox/:messageId",
    summary: "Take back a message that is still waiting",
    access: "principal",
    params: z.strictObject({ id: sessionId, messageId }),
    answer: { media: "none", status: 204 },
    problems: ["session_not_found", "message_not_found", "input_claimed"],
    repeat: "safe",
  }),
  exportSession: defineRoute({
    method: "GET",
    path: "/api/sessions/:id/export",
    summary: "The session as a document",
    access: "principal",
    params: sessionParams,
    query: z.strictObject({
      format: z.enum(["json", "md", "html", "audit"]).optional(),
      /** Whether versions of messages that are out of view are part of it; by default they are. */
      versions: z.enum(["all", "shown"]).optional(),
    }),
    answer: { media: "text", status: 200 },
    problems: ["session_not_found", "export_unsupported"],
    repeat: "safe",
  }),
} as const;

const count = z.int().nonnegative();

/** Deleting for good. Only what is in the trash can be deleted. */
export const trashRoutes = {
  purgeSession: defineRoute({
    method: "DELETE",
    path: "/api/trash/:id",
    summary: "Delete a session in the trash for good: its messages, files and search entries",
    access: "principal",
    params: sessionParams,
    /** What becomes of a worktree with work in it: it is kept, or the session is not deleted. */
    query: z.strictObject({ worktree: z.enum(["keep"]).optional() }),
    answer: { media: "json", status: 200, schema: z.looseObject({ events: count }) },
    problems: ["session_not_found", "session_not_trashed", "worktree_has_work"],
    repeat: "safe",
  }),
  emptyTrash: defineRoute({
    method: "DELETE",
    path: "/api/trash",
    summary: "Delete every session in the trash for good",
    access: "principal",
    answer: {
      media: "json",
      status: 200,
      schema: z.looseObject({
        sessions: count,
        /** Those that stay in the trash, because work in their worktrees would be lost. */
        kept: count.optional(),
      }),
    },
    problems: [],
    repeat: "safe",
  }),
} as const;
