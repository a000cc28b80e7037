import type { Reads, SessionRow } from "@holdfast/engine";
import type { BlobId, Seq } from "@holdfast/protocol";
import { z } from "zod";

import type { Redact } from "../secrets/redact.ts";
import {
  type DocumentBlob,
  documentFormat,
  type DocumentSession,
  documentVersion,
  timestamp,
} from "./document.ts";
import { writeHtml } from "./export-html.ts";
import { writeMarkdown } from "./export-markdown.ts";
import { blobIdsIn, readTranscript } from "./export.ts";

export type ExportFormat = "json" | "md" | "html";

export interface ExportDeps {
  readonly reads: Reads;
  readonly redact: Redact;
  readonly exportedAt: number;
}

/** So many bytes of attachments travel with a document; those beyond it are named and left out. */
const maxBlobBytes = 24 * 1024 * 1024;

/** The document, piece by piece. */
export function exportSession(
  parts: ExportDeps,
  session: SessionRow,
  format: ExportFormat,
): AsyncGenerator<string> {
  switch (format) {
    case "json":
      return writeJson(parts, session);
    case "md":
      return writeMarkdown(
        titleOfDocument(session, parts),
        readTranscript(parts.reads, session, parts.redact),
      );
    case "html":
      return writeHtml(
        titleOfDocument(session, parts),
        readTranscript(parts.reads, session, parts.redact),
        (id) => readBlob(parts.reads, session, id),
      );
  }
}

export interface DocumentTitle {
  readonly title: string;
  readonly createdAt: number;
  readonly exportedAt: number;
}

function titleOfDocument(session: SessionRow, { redact, exportedAt }: ExportDeps): DocumentTitle {
  const title = redact(session.title ?? "Untitled");
  return { title, createdAt: session.createdAt, exportedAt };
}

/** One entry on a line, so that a document can be looked through with plain tools. */
async function* writeJson(
  { reads, redact, exportedAt }: ExportDeps,
  session: SessionRow,
): AsyncGenerator<string> {
  const { title, titleSource, project, tags, pinned, archived } = session;
  const about: DocumentSession = {
    title: title === null ? null : redact(title),
    titleSource,
    project,
    tags: [...tags],
    pinned,
    archived,
    createdAt: await originalCreatedAt(reads, session),
  };
  const named = new Set<BlobId>();
  yield `{"format":${JSON.stringify(documentFormat)},"version":${documentVersion},"exportedAt":${exportedAt},\n`;
  yield `"session":${JSON.stringify(about)},\n"entries":[`;
  let comma = "";
  for await (const entry of readTranscript(reads, session, redact)) {
    for (const id of blobIdsIn(entry)) named.add(id);
    yield `${comma}\n${JSON.stringify(entry)}`;
    comma = ",";
  }
  yield `\n],\n"blobs":[`;
  comma = "";
  let room = maxBlobBytes;
  for (const id of named) {
    const blob = await reads.blob(session.owner, id);
    if (blob === null || blob.bytes.byteLength > room) continue;
    room -= blob.bytes.byteLength;
    const base64 = Buffer.from(blob.bytes).toString("base64");
    const written: DocumentBlob = { id, mediaType: blob.mediaType, base64 };
    yield `${comma}\n${JSON.stringify(written)}`;
    comma = ",";
  }
  yield `\n]}\n`;
}

const importedSession = z.looseObject({ imported: z.looseObject({ originalAt: timestamp }) });

/** When it was begun, also where it was imported since. */
async function originalCreatedAt(
  reads: Reads,
  { owner, id, createdAt }: SessionRow,
): Promise<number> {
  const page = await reads.events(owner, id, { after: 0 as Seq, limit: 1 });
  const [first] = page?.events ?? [];
  return importedSession.safeParse(first?.data).data?.imported.originalAt ?? createdAt;
}

async function readBlob(reads: Reads, { owner }: SessionRow, id: BlobId) {
  const blob = await reads.blob(owner, id);
  return blob === null ? undefined : { mediaType: blob.mediaType, bytes: blob.bytes };
}
