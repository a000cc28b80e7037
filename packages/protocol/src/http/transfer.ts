import { z } from "zod";

import { sessionId } from "../ids.ts";
import { jsonObject } from "../parts.ts";
import { defineRoute } from "./define.ts";
import { countText, limitText } from "./fields.ts";
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

/** What an import takes; without a choice, everything but secrets. */
export const importKinds = [
  "sessions",
  "projects",
  "personas",
  "memory",
  "skills",
  "schedules",
  "mcp",
  "secrets",
] as const;
export type ImportKind = (typeof importKinds)[number];

/** The programs whose data an import reads. */
export const importSources = ["hermes", "chatgpt", "claude", "claude-code", "codex"] as const;
export type ImportSourceName = (typeof importSources)[number];

export interface ImportSourceInfo {
  /** What a path may name: the folder that the program works in, or a download, zipped or unpacked. */
  readonly reads: "folder" | "file_or_folder";
  /** Where the folder usually is, below the person's own folder. `null`: wherever the download went. */
  readonly usualFolder: string | null;
  readonly kinds: readonly ImportKind[];
}

export const importSourceInfo: Readonly<Record<ImportSourceName, ImportSourceInfo>> = {
  hermes: { reads: "folder", usualFolder: ".hermes", kinds: importKinds },
  chatgpt: {
    reads: "file_or_folder",
    usualFolder: null,
    kinds: ["sessions", "projects", "memory"],
  },
  claude: { reads: "file_or_folder", usualFolder: null, kinds: ["sessions", "projects", "memory"] },
  "claude-code": { reads: "folder", usualFolder: ".claude/projects", kinds: ["sessions"] },
  codex: { reads: "folder", usualFolder: ".codex/sessions", kinds: ["sessions"] },
};

const counts = z.record(z.string(), count);

const importView = z.looseObject({
  id: z.string(),
  state: z.enum(["running", "done", "failed"]),
  /** The program that the data is from. */
  source: z.string(),
  path: z.string(),
  /** Nothing was written: it only says what would be taken. */
  dryRun: z.boolean(),
  startedAt: count,
  endedAt: count.nullable(),
  /** Why it ended early. What was taken stays, and the same import again goes on from there. */
  failure: z.string().nullable(),
  /** The report's file on the host, once there is one. */
  report: z.string().nullable(),
  /** How many of each kind were taken, merged, recovered, known, extended, skipped or failed. */
  items: z.record(z.string(), counts),
  /** What else is worth knowing, by code and outcome. */
  findings: z.record(z.string(), counts),
  /** Messages by role: as read, and as they are stored here. */
  before: counts,
  after: counts,
  /** Texts whose hashes were compared, and how many were not the same. */
  texts: count,
  differs: count,
  /** How many sessions there are to take, once that is known. */
  expected: count.nullable().optional(),
});
export type ImportView = z.infer<typeof importView>;

/** Which lines of an import's report to list. */
export const importItemFilters = [
  "all",
  "noteworthy",
  "skipped",
  "damaged",
  "recovered",
  "guess",
] as const;
export type ImportItemFilter = (typeof importItemFilters)[number];

const importRemark = z.looseObject({
  code: z.string(),
  outcome: z.string(),
  path: z.string(),
  text: z.string(),
});

/** An item of a report, without the hashes of its texts. */
const importItem = z.looseObject({
  item: z.string(),
  outcome: z.string(),
  name: z.string(),
  reason: z.string().optional(),
  path: z.string().optional(),
  session: z.string().optional(),
  code: z.string().optional(),
  differs: count.optional(),
  remarks: z.array(importRemark).optional(),
});
export type ImportItemView = z.infer<typeof importItem>;

/** A piece of a file is at most this long, and a file at most that. */
export const importPieceBytes: number = 8 * 1024 * 1024;
export const importUploadBytes: number = 8 * 1024 * 1024 * 1024;

const oneImport = z.looseObject({ import: importView });
const importParams = z.strictObject({ id: z.string().regex(/^[\w-]{1,100}$/) });

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
  startImport: defineRoute({
    method: "POST",
    path: "/api/imports",
    summary: "Import another program's data from the host's machine",
    access: "principal",
    headers: idempotencyHeader,
    body: z.strictObject({
      source: z.enum(importSources),
      /** A folder, or for a download also its file; `~/` is the folder of the person that the host runs as. */
      path: z.string().min(1).max(4_096),
      mode: z.enum(["write", "dry"]).optional(),
      only: z.array(z.enum(importKinds)).max(importKinds.length).optional(),
      profile: z.string().min(1).max(200).optional(),
      /** Keys are taken only on an explicit yes, and stored encrypted. */
      secrets: z.enum(["taken", "left"]).optional(),
    }),
    example: { source: "hermes", path: "/home/ada/.hermes", mode: "dry" },
    answer: { media: "json", status: 202, schema: oneImport },
    problems: ["import_source_missing", "import_running", "backup_unsupported"],
    repeat: "key",
  }),
  listImports: defineRoute({
    method: "GET",
    path: "/api/imports",
    summary: "The imports into this home, newest first",
    access: "principal",
    answer: {
      media: "json",
      status: 200,
      schema: z.looseObject({ imports: z.array(importView) }),
    },
    problems: [],
    repeat: "safe",
  }),
  readImport: defineRoute({
    method: "GET",
    path: "/api/imports/:id",
    summary: "The progress or result of an import",
    access: "principal",
    params: importParams,
    answer: { media: "json", status: 200, schema: oneImport },
    problems: ["import_not_found"],
    repeat: "safe",
  }),
  readImportReport: defineRoute({
    method: "GET",
    path: "/api/imports/:id/report",
    summary: "An import's report: every item, and the hash of every text before and after",
    access: "principal",
    params: importParams,
    answer: { media: "text", status: 200 },
    problems: ["import_not_found"],
    repeat: "safe",
  }),
  listImportItems: defineRoute({
    method: "GET",
    path: "/api/imports/:id/items",
    summary: "The items of an import's report, a page at a time",
    access: "principal",
    params: importParams,
    query: z.strictObject({
      show: z.enum(importItemFilters).optional(),
      /** In its name, its path or a remark. */
      q: z.string().max(200).optional(),
      /** From an earlier page: `next`. */
      after: countText.optional(),
      limit: limitText.optional(),
    }),
    answer: {
      media: "json",
      status: 200,
      schema: z.looseObject({ items: z.array(importItem), next: count.nullable() }),
    },
    problems: ["import_not_found"],
    repeat: "safe",
  }),
  uploadImport: defineRoute({
    method: "PUT",
    path: "/api/imports/uploads/:id",
    summary: "Upload one piece of a file to import; pass the returned `path` to POST /api/imports",
    access: "principal",
    /** Chosen by the client, one for each file. */
    params: z.strictObject({ id: z.string().regex(/^[\w-]{1,64}$/) }),
    query: z.strictObject({
      /** Where in the file the piece begins. */
      at: countText,
      /** Its name keeps only its ending. */
      name: z.string().min(1).max(500),
    }),
    body: "bytes",
    largestBody: importPieceBytes,
    answer: {
      media: "json",
      status: 200,
      schema: z.looseObject({ path: z.string(), bytes: count }),
    },
    problems: ["import_upload_gap", "import_upload_too_large", "backup_unsupported"],
    // The same piece at the same place is the same file.
    repeat: "safe",
  }),
  stopImport: defineRoute({
    method: "DELETE",
    path: "/api/imports/:id",
    summary: "Stop an import; what was imported is kept, and the same import continues from there",
    access: "principal",
    params: importParams,
    answer: { media: "json", status: 200, schema: oneImport },
    problems: ["import_not_found"],
    repeat: "safe",
  }),
  exportAll: defineRoute({
    method: "GET",
    path: "/api/export",
    summary: "Everything: as JSON lines to import elsewhere, or as a zip of readable documents",
    access: "principal",
    query: z.strictObject({
      format: z.enum(["jsonl", "md", "html"]).optional(),
      /** The link key of a sign-in, in a link. */
      key: z.string().max(200).optional(),
    }),
    linked: true,
    answer: { media: "bytes", status: 200 },
    problems: ["export_unsupported"],
    repeat: "safe",
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
      schema: z.looseObject({
        name: z.string(),
        bytes: count,
        verifiedAt: count.nullable().optional(),
        sessions: count.nullable().optional(),
        events: count.nullable().optional(),
      }),
    },
    problems: ["backup_unsupported", "backup_failed"],
    repeat: "key",
  }),
  listBackups: defineRoute({
    method: "GET",
    path: "/api/backups",
    summary: "The backups in the home, newest first, and the progress of a running one",
    access: "principal",
    answer: {
      media: "json",
      status: 200,
      schema: z.looseObject({
        /** Whether this host can make any: PostgreSQL has its own tools. */
        supported: z.boolean(),
        backups: z.array(
          z.looseObject({
            name: z.string(),
            createdAt: count,
            bytes: count,
            /** When it was restored into a scratch home and proven there; `null` if it was not. */
            verifiedAt: count.nullable(),
            sessions: count.nullable(),
            events: count.nullable(),
          }),
        ),
        running: z
          .looseObject({
            phase: z.enum(["copying", "checking"]),
            sessions: count,
            events: count,
          })
          .nullable(),
      }),
    },
    problems: [],
    repeat: "safe",
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
