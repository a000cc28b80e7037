import { createHash } from "node:crypto";
import { type BlobId, fieldErrors } from "@holdfast/protocol";
import type { z } from "zod";

import {
  documentBlob,
  type DocumentEntry,
  documentEntry,
  documentHead,
  type DocumentSession,
} from "./document.ts";

export interface ParsedDocument {
  readonly session: DocumentSession;
  readonly entries: readonly DocumentEntry[];
  readonly blobs: ReadonlyMap<BlobId, { readonly mediaType: string; readonly bytes: Uint8Array }>;
  /** Of what it says, whenever it was exported: the same content is the same import. */
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

/** Line by line: the first lines that are wrong are named, and then nothing of the document is taken. */
export function parseDocument(given: unknown): DocumentParseResult {
  const head = documentHead.safeParse(given);
  if (!head.success) return refusedDocument(fieldErrors(head.error));
  const errors: FieldError[] = [];
  const entries = parseLines("entries", head.data.entries, documentEntry, errors);
  const blobs = parseBlobs(head.data.blobs, errors);
  errors.push(...callErrorsIn(entries));
  if (errors.length > 0) return refusedDocument(errors);
  const { session } = head.data;
  const hash = createHash("sha256")
    .update(JSON.stringify([session, entries, [...blobs.keys()].toSorted()]))
    .digest("hex");
  return { status: "read", document: { session, entries, blobs, hash } };
}

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

/** The bytes must have the name that they come under: nobody's file is taken for another's. */
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

/** Calls are made by the assistant, once each, and answered by tools after that. */
function callErrorsIn(entries: readonly DocumentEntry[]): FieldError[] {
  const errors: FieldError[] = [];
  const open = new Map<string, "open" | "answered">();
  for (const [index, entry] of entries.entries()) {
    if (entry.type !== "message") continue;
    for (const [place, part] of entry.parts.entries()) {
      const path = `entries.${index}.parts.${place}`;
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
