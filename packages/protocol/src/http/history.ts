import { z } from "zod";

import { messageId, seq, sessionId } from "../ids.ts";
import { attachment } from "../parts.ts";
import { filesChoice, filesRestored } from "./agent/session-files.ts";
import { defineRoute } from "./define.ts";
import { countText } from "./fields.ts";
import { acceptedInput, idempotencyHeader, sessionParams, title } from "./sessions.ts";
import { alternativeView, sessionView } from "./views.ts";

const conditions = {
  /** Refused as `head_moved` unless this is still the head. */
  expectedHead: seq.optional(),
  /** Cancels a live run; without it a live run is a `409`. */
  interrupt: z.boolean().optional(),
};

const changed = z.looseObject({
  session: sessionView,
  seq,
  /** What was done with the files, if they were to be restored. */
  files: filesRestored.optional(),
});
const filesField = { files: filesChoice };
const refusals = [
  "session_not_found",
  "session_trashed",
  "head_moved",
  "run_live",
  "compaction_live",
  "history_live",
  "cancel_pending",
] as const;
const common = {
  method: "POST",
  access: "principal",
  params: sessionParams,
  headers: idempotencyHeader,
  repeat: "key",
} as const;

/** Commands on the history. All of them append; none deletes. */
export const historyRoutes = {
  undo: defineRoute({
    ...common,
    path: "/api/sessions/:id/undo",
    summary: "Take the last turns out of view",
    body: z.strictObject({
      ...conditions,
      ...filesField,
      turns: z.int().min(1).max(1000).optional(),
    }),
    answer: { media: "json", status: 200, schema: changed },
    problems: [...refusals, "nothing_to_undo", "files_unavailable"],
  }),
  redo: defineRoute({
    ...common,
    path: "/api/sessions/:id/redo",
    summary: "Bring back what was cut last",
    body: z.strictObject({ ...conditions, ...filesField }),
    answer: { media: "json", status: 200, schema: changed },
    problems: [...refusals, "nothing_to_redo", "files_unavailable"],
  }),
  retry: defineRoute({
    ...common,
    path: "/api/sessions/:id/retry",
    summary: "Ask again from a message, the last one unless told, in its own or in new words",
    body: z.strictObject({
      ...conditions,
      from: seq.optional(),
      text: z.string().max(1_000_000).optional(),
      attachments: z.array(attachment).max(50).optional(),
      /** The model that answers it, and the session's from then on. */
      model: z.string().min(1).max(200).optional(),
    }),
    answer: { media: "json", status: 202, schema: acceptedInput },
    problems: [
      ...refusals,
      "entry_not_found",
      "nothing_to_undo",
      "blob_not_found",
      "model_unknown",
      "model_unusable",
    ],
  }),
  listAlternatives: defineRoute({
    method: "GET",
    access: "principal",
    path: "/api/sessions/:id/alternatives",
    summary: "List the versions of each edited or retried turn in view",
    repeat: "safe",
    params: sessionParams,
    answer: {
      media: "json",
      status: 200,
      /** One item for each turn, oldest first, with its versions, oldest first. */
      schema: z.looseObject({
        turns: z.array(z.looseObject({ alternatives: z.array(alternativeView) })),
      }),
    },
    problems: ["session_not_found"],
  }),
  switchAlternative: defineRoute({
    ...common,
    path: "/api/sessions/:id/alternatives",
    summary: "Show another version of a turn in view, with everything that followed it",
    body: z.strictObject({
      ...conditions,
      ...filesField,
      /** The message that the version begins with. */
      messageId,
    }),
    example: { messageId: "msg_01k8z0000000000000000000aa" },
    answer: { media: "json", status: 200, schema: changed },
    problems: [...refusals, "entry_not_found", "files_unavailable"],
  }),
  truncate: defineRoute({
    ...common,
    path: "/api/sessions/:id/truncate",
    summary: "Take an entry and everything after it out of view",
    body: z.strictObject({ ...conditions, from: seq }),
    example: { from: 3 },
    answer: { media: "json", status: 200, schema: changed },
    problems: [...refusals, "entry_not_found"],
  }),
  clear: defineRoute({
    ...common,
    path: "/api/sessions/:id/clear",
    summary: "Take everything out of view",
    body: z.strictObject(conditions),
    answer: { media: "json", status: 200, schema: changed },
    problems: refusals,
  }),
  branch: defineRoute({
    ...common,
    path: "/api/sessions/:id/branch",
    summary: "Go on from a point in a session of its own",
    body: z.strictObject({
      ...conditions,
      /** The last entry the branch keeps; by default the newest. */
      at: seq.optional(),
      title: title.optional(),
    }),
    answer: { media: "json", status: 201, schema: z.looseObject({ session: sessionView }) },
    problems: [...refusals, "entry_not_found"],
  }),
  duplicate: defineRoute({
    ...common,
    path: "/api/sessions/:id/duplicate",
    summary: "Make a branch at the end, under a title of its own",
    body: z.strictObject({ ...conditions, title: title.optional() }),
    answer: { media: "json", status: 201, schema: z.looseObject({ session: sessionView }) },
    problems: refusals,
  }),
  compact: defineRoute({
    ...common,
    path: "/api/sessions/:id/compact",
    summary: "Put a summary in the place of what came before",
    body: z.strictObject({ ...conditions, focus: z.string().max(2000).optional() }),
    answer: {
      media: "json",
      status: 202,
      /** `deferred`: somebody else is compacting. */
      schema: z.looseObject({ outcome: z.enum(["started", "deferred"]), sessionId }),
    },
    problems: [...refusals, "nothing_to_gain"],
  }),
  restoreEpoch: defineRoute({
    ...common,
    path: "/api/sessions/:id/epochs/:n/restore",
    summary: "Begin the model's context with an earlier epoch",
    params: z.strictObject({ id: sessionId, n: countText }),
    body: z.strictObject(conditions),
    answer: { media: "json", status: 200, schema: changed },
    problems: [...refusals, "epoch_not_found"],
  }),
} as const;
