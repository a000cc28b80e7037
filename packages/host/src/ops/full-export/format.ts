import {
  blobId,
  eventId,
  ownerId,
  runId,
  seq,
  sessionId,
  type StoredEvent,
} from "@holdfast/protocol";
import { z } from "zod";

/** Everything a host keeps, as JSON lines: docs/export-format.md describes them. */
export const fullExportFormat = "holdfast.export";
export const fullExportVersion = 1;

const count = z.int().nonnegative();
const link = z.string().max(200).nullable();
/** A database may not store it; nothing that a host writes has it. */
const withoutNul = (longest: number) =>
  z
    .string()
    .max(longest)
    .refine((value) => !value.includes("\0"), "expected no NUL");
const maxVersion = 2 ** 31 - 1;

export const headerLine = z.object({
  format: z.literal(fullExportFormat),
  version: z.int().positive(),
  exportedAt: count,
  /** The version of the host that wrote it. */
  holdfast: z.string().max(100),
  store: z.string().max(100),
});
export type HeaderLine = z.infer<typeof headerLine>;

/** The event's own object: a copy would reorder its fields, and lose those with special names. */
const eventData = z.custom<StoredEvent["data"]>(
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  "expected an object",
);

const eventLine = z.object({
  kind: z.literal("event"),
  seq: seq.min(1),
  id: eventId,
  type: withoutNul(200).min(1),
  v: z.int().positive().max(maxVersion),
  at: count,
  runId: runId.nullable(),
  quiet: z.boolean(),
  data: eventData,
  /** The salt and hashes that link it to the event before it; output that is not settled has none. */
  link,
});
export type EventLine = z.infer<typeof eventLine>;

const usageLine = z.object({
  kind: z.literal("usage"),
  seq: seq.min(1),
  runId: runId.nullable(),
  at: count,
  model: withoutNul(1_000),
  input: count,
  output: count,
  cacheRead: count,
  cacheWrite: count,
  costMicros: count,
  profile: withoutNul(1_000).nullable(),
});
export type UsageLine = z.infer<typeof usageLine>;

const logLine = z.object({
  kind: z.literal("log"),
  session: sessionId,
  owner: ownerId,
  /** When it was deleted for good. What follows is what branches still read of it, and what it had used. */
  purged: z.object({ at: count, events: count }).nullable(),
});
export type LogLine = z.infer<typeof logLine>;

const registerLine = z.object({
  kind: z.literal("register"),
  owner: ownerId,
  key: withoutNul(1_000).min(1),
  value: withoutNul(16_000),
});
export type RegisterLine = z.infer<typeof registerLine>;

const endLine = z.object({
  kind: z.literal("end"),
  logs: count,
  events: count,
  blobs: count,
  register: count,
  files: count,
  /** Of all lines before this one. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  /** By the host that wrote it, of that hash. */
  publicKey: z.string().max(200),
  signature: z.string().max(200),
});
export type EndLine = z.infer<typeof endLine>;

export const exportLine = z.discriminatedUnion("kind", [
  logLine,
  eventLine,
  usageLine,
  z.object({ kind: z.literal("damaged"), seq, problem: z.string().max(2_000), link }),
  z.object({ kind: z.literal("logEnd"), session: sessionId, events: count }),
  z.object({
    kind: z.literal("blob"),
    owner: ownerId,
    id: blobId,
    mediaType: withoutNul(1_000),
    size: count,
  }),
  z.object({ kind: z.literal("file"), path: z.string().min(1).max(1_000), size: count }),
  z.object({ kind: z.literal("bytes"), base64: z.string() }),
  registerLine,
  endLine,
]);
export type ExportLine = z.infer<typeof exportLine>;

/** Of a blob or a file; each line of bytes has at most this much before it is encoded. */
export const bytesPerLine = 768 * 1024;
/** A longer line, blob or file would have to be held in memory. */
export const maxLineBytes = 16 * 1024 * 1024;
export const maxBytes = 512 * 1024 * 1024;

export const signedText = (sha256: string): string => `holdfast export 1\n${sha256}`;

/**
 * Rows of the register that stay: stored secrets, keys and sign-ins by which somebody gets in, push addresses of
 * browsers, and what only counts for a running process. They aren't taken from a file either, which anybody can sign.
 */
const leftOut = [
  "secret/",
  "sign-in/",
  "sign-in-code/",
  "sign-in-attempts/",
  "api-key/",
  "notify",
  "bot/",
  "mcp-refresh/",
];

export function isLeftOut({ owner, key }: Pick<RegisterLine, "owner" | "key">): boolean {
  return owner.startsWith("holdfast:") || leftOut.some((prefix) => key.startsWith(prefix));
}

/** Of the home beside the store: what people wrote, and settings that are not secret. */
export const exportedFolders = ["memory", "skills", "agents"];
export const exportedFiles = ["persona.md", "persona-synced.json", "config.json"];

export function isExportedPath(path: string): boolean {
  const parts = path.split("/");
  const [top = ""] = parts;
  const isPlain = parts.every(
    (part) => part !== "" && part !== "." && part !== ".." && !/[\\\0]/.test(part),
  );
  return isPlain && (parts.length === 1 ? exportedFiles : exportedFolders).includes(top);
}
