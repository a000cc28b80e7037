import { z } from "zod";

import { sessionId } from "../ids.ts";
import { jsonObject } from "../parts.ts";
import { defineRoute } from "./define.ts";
import { idempotencyHeader } from "./sessions.ts";

const count = z.int().nonnegative();
const mode = z.enum(["check", "rebuild"]);

/** The progress of a check of the whole store, and its findings. */
const fsckView = z.looseObject({
  state: z.enum(["never", "running", "done", "failed"]),
  mode: mode.optional(),
  sessions: count,
  events: count,
  findings: count,
  /** Only the first ones. */
  found: z.array(z.looseObject({ code: z.string(), table: z.string(), message: z.string() })),
  /** `null` until it is done. */
  clean: z.boolean().nullable(),
  repaired: count.optional(),
  /** What could not be proven either way because it was being written. */
  unproven: z.array(z.string()).optional(),
  /** Files with output that has not been ingested yet. */
  spills: count.optional(),
});

/** Export, import and backup of a whole host, and its integrity check. */
export const transferRoutes = {
  importSessions: defineRoute({
    method: "POST",
    path: "/api/import",
    summary: "Take in an exported document",
    access: "principal",
    headers: idempotencyHeader,
    /** A document, not a command: its rows are stored data, whose unknown fields are carried through. */
    largestBody: 64 * 1024 * 1024,
    body: z.strictObject({ format: z.string().min(1).max(60), document: jsonObject }),
    example: {
      format: "json",
      document: {
        format: "holdfast.session",
        version: 1,
        exportedAt: 0,
        session: { title: "Carried over", project: null, tags: [], createdAt: 0 },
        entries: [
          { type: "message", role: "user", at: 0, parts: [{ type: "text", text: "Hello" }] },
        ],
        blobs: [],
      },
    },
    answer: {
      media: "json",
      status: 201,
      schema: z.looseObject({
        sessions: z.array(z.looseObject({ id: sessionId })),
        skipped: z.array(z.looseObject({ id: z.string(), reason: z.string() })),
      }),
    },
    problems: ["import_refused", "blob_not_found", "session_exists"],
    repeat: "key",
  }),
  backup: defineRoute({
    method: "POST",
    path: "/api/backup",
    summary: "Copy everything into a folder of the home, while the host runs",
    access: "principal",
    headers: idempotencyHeader,
    answer: {
      media: "json",
      status: 201,
      /** The folder below `backups` in the home. */
      schema: z.looseObject({ name: z.string(), bytes: count }),
    },
    problems: ["backup_unsupported"],
    repeat: "key",
  }),
  startFsck: defineRoute({
    method: "POST",
    path: "/api/fsck",
    summary: "Begin to prove the whole store, unless that is under way",
    access: "principal",
    headers: idempotencyHeader,
    body: z.strictObject({ mode: mode.optional() }),
    answer: { media: "json", status: 202, schema: fsckView },
    problems: [],
    repeat: "key",
  }),
  readFsck: defineRoute({
    method: "GET",
    path: "/api/fsck",
    summary: "How far the check of the store is, and what it has found",
    access: "principal",
    answer: { media: "json", status: 200, schema: fsckView },
    problems: [],
    repeat: "safe",
  }),
} as const;
