import { z } from "zod";
import { createHash } from "node:crypto";
import {
  blobId,
  json,
  titleSource,
  toolOutcome,
  type BlobId,
  fieldErrors,
  maxAlternatives,
} from "@holdfast/protocol";

import { readVersionTree, type VersionTree } from "./version-tree.ts";

/**
 * A session as a document. It contains what was said and nothing with authority: no ids another host would take for its
 * own, no paths, no approvals, nothing a model would be told unseen.
 */
export const documentFormat = "holdfast.session";
export const documentVersion = 1;

/** The range of Date: a later time could not be formatted. */
export const timestamp = z.int().nonnegative().max(8_640_000_000_000_000);
const longText = z.string().max(1_000_000);
const callName = z.string().min(1).max(200);
const toolName = z.string().min(1).max(200);

/** All strict: unknown fields are refused rather than carried along. */
export const documentPart = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text"), text: longText }),
  z.strictObject({ type: z.literal("reasoning"), text: longText }),
  z.strictObject({ type: z.literal("tool_call"), callId: callName, name: toolName, input: json }),
  z.strictObject({
    type: z.literal("tool_result"),
    callId: callName,
    name: toolName,
    outcome: toolOutcome,
    output: longText,
  }),
  z.strictObject({
    type: z.literal("file"),
    blobId,
    name: z.string().max(500),
    mediaType: z.string().max(200),
    size: z.int().nonnegative(),
  }),
  z.strictObject({
    type: z.literal("image"),
    blobId,
    mediaType: z.string().max(200),
    name: z.string().max(500).optional(),
    width: z.int().positive().optional(),
    height: z.int().positive().optional(),
  }),
  z.strictObject({ type: z.literal("notice"), kind: z.string().max(100), text: longText }),
]);
export type DocumentPart = z.infer<typeof documentPart>;

const messageSchema = z.strictObject({
  type: z.literal("message"),
  role: z.enum(["user", "assistant", "tool"]),
  at: timestamp,
  parts: z.array(documentPart).max(1_000),
  model: z.string().min(1).max(200).optional(),
  partial: z.enum(["cancelled", "interrupted", "failed", "limit"]).optional(),
  superseded: z.literal(true).optional(),
});

const notice = z.strictObject({
  type: z.literal("notice"),
  at: timestamp,
  kind: z.string().min(1).max(100),
  text: longText,
});

export const documentEntry = z.discriminatedUnion("type", [messageSchema, notice]);
export type DocumentEntry = z.infer<typeof documentEntry>;

export const documentSession = z.strictObject({
  title: z.string().min(1).max(300).nullable(),
  project: z.string().min(1).max(120).nullable(),
  tags: z.array(z.string().min(1).max(60)).max(50),
  createdAt: timestamp,
  /** Who set the title: a chosen one is not replaced later, a derived one is. Chosen by default. */
  titleSource: titleSource.nullable().optional(),
  pinned: z.boolean().optional(),
  archived: z.boolean().optional(),
});
export type DocumentSession = z.infer<typeof documentSession>;

export const documentBlob = z.strictObject({
  id: blobId,
  mediaType: z.string().min(1).max(200),
  base64: z.string().regex(/^[A-Za-z0-9+/]*={0,2}$/),
});
export type DocumentBlob = z.infer<typeof documentBlob>;

const entryNumber = z.int().nonnegative();

/**
 * Versions of messages that are out of view, since version 1 without them could not be switched. Entries are numbered
 * from 0: first those in view, then `hidden`.
 */
export const documentAlternatives = z.strictObject({
  /** The first entry of each version, for each message that has several. */
  turns: z.array(z.array(entryNumber).min(2).max(maxAlternatives)).max(maxAlternatives),
  /** What is in view with each other version, as first and last numbers. The one that was left last comes last. */
  views: z.array(z.array(z.tuple([entryNumber, entryNumber])).min(1)).max(maxAlternatives),
});
export type DocumentAlternatives = z.infer<typeof documentAlternatives>;

/** Without its lists, which are parsed line by line. */
const documentHead = z.strictObject({
  format: z.literal(documentFormat),
  version: z.literal(documentVersion),
  exportedAt: timestamp,
  session: documentSession,
  entries: z.array(z.unknown()).max(200_000),
  /** Both are absent if no message has several versions. */
  hidden: z.array(z.unknown()).max(200_000).optional(),
  alternatives: documentAlternatives.optional(),
  blobs: z.array(z.unknown()).max(2_000),
});

export interface ParsedDocument {
  readonly session: DocumentSession;
  readonly entries: readonly DocumentEntry[];
  /** `null`: every message has one version. */
  readonly versions: VersionTree | null;
  readonly blobs: ReadonlyMap<BlobId, { readonly mediaType: string; readonly bytes: Uint8Array }>;
  /** Of the content, whenever it was exported: the same content is the same import. */
  readonly hash: string;
}

export interface FieldError {
  readonly path: string;
  readonly message: string;
}

export type DocumentParseResult =
  | { readonly status: "read"; readonly document: ParsedDocument }
  | { readonly status: "refused"; readonly errors: readonly FieldError[] };

const maxErrors = 20;

/** Parses line by line: the first errors are named, and then nothing of the document is imported. */
export function parseDocument(value: unknown): DocumentParseResult {
  const head = documentHead.safeParse(value);
  if (!head.success) return refusedDocument(fieldErrors(head.error));
  const errors: FieldError[] = [];
  const entries = parseLines("entries", head.data.entries, documentEntry, errors);
  const hidden = parseLines("hidden", head.data.hidden ?? [], documentEntry, errors);
  const blobs = parseBlobs(head.data.blobs, errors);
  errors.push(...callErrorsIn(entries));
  if (errors.length > 0) return refusedDocument(errors);
  const { session, alternatives = noAlternatives } = head.data;
  const tree = readVersionTree(entries, hidden, alternatives);
  if ("errors" in tree) return refusedDocument(tree.errors);
  for (const path of tree.views)
    errors.push(...callErrorsIn(path.flatMap((number) => tree.entries[number] ?? [])));
  if (errors.length > 0) return refusedDocument(errors);
  const isVersioned = alternatives.turns.length > 0;
  const hash = createHash("sha256")
    .update(
      JSON.stringify([
        session,
        entries,
        [...blobs.keys()].toSorted(),
        ...(isVersioned ? [hidden, alternatives] : []),
      ]),
    )
    .digest("hex");
  const versions = isVersioned ? tree : null;
  return { status: "read", document: { session, entries, versions, blobs, hash } };
}

const noAlternatives: DocumentAlternatives = { turns: [], views: [] };

function refusedDocument(errors: readonly FieldError[]): DocumentParseResult {
  return { status: "refused", errors: errors.slice(0, maxErrors) };
}

function parseLines<T>(
  name: string,
  lines: readonly unknown[],
  schema: z.ZodType<T>,
  errors: FieldError[],
): T[] {
  const read: T[] = [];
  for (const [index, line] of lines.entries()) {
    const parsed = schema.safeParse(line);
    if (parsed.success) read.push(parsed.data);
    else if (errors.length < maxErrors)
      errors.push(
        ...fieldErrors(parsed.error).map(({ path, message }) => ({
          path: `${name}.${index}${path === "" ? "" : `.${path}`}`,
          message,
        })),
      );
  }
  return read;
}

/** Bytes must match the id they come under: no file is taken for another. */
function parseBlobs(lines: readonly unknown[], errors: FieldError[]): ParsedDocument["blobs"] {
  const blobs = new Map<BlobId, { mediaType: string; bytes: Uint8Array }>();
  for (const [index, { id, mediaType, base64 }] of parseLines(
    "blobs",
    lines,
    documentBlob,
    errors,
  ).entries()) {
    const bytes = new Uint8Array(Buffer.from(base64, "base64"));
    const own = createHash("sha256").update(bytes).digest("hex");
    if (id === `blob_${own}`) blobs.set(id, { mediaType, bytes });
    else errors.push({ path: `blobs.${index}.id`, message: "expected the hash of its bytes" });
  }
  return blobs;
}

/** The assistant makes each call once, and tools answer it later. */
function callErrorsIn(entries: readonly DocumentEntry[]): FieldError[] {
  const errors: FieldError[] = [];
  const open = new Map<string, "open" | "answered">();
  for (const [index, entry] of entries.entries()) {
    if (entry.type !== "message") continue;
    for (const [partIndex, part] of entry.parts.entries()) {
      const path = `entries.${index}.parts.${partIndex}`;
      if (part.type === "tool_call") {
        if (entry.role !== "assistant") errors.push({ path, message: "only the assistant calls" });
        if (open.has(part.callId)) errors.push({ path, message: "expected a call of its own" });
        open.set(part.callId, "open");
      } else if (part.type === "tool_result") {
        if (entry.role !== "tool") errors.push({ path, message: "only a tool answers a call" });
        if (open.get(part.callId) !== "open")
          errors.push({ path, message: "expected the answer to a call before it" });
        open.set(part.callId, "answered");
      } else if (entry.role === "tool") {
        errors.push({ path, message: "a tool's message holds results alone" });
      }
    }
  }
  return errors;
}
