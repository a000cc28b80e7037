import { z } from "zod";
import { readableBlob, type Reads, type SessionRow, withAmendments } from "@holdfast/engine";
import {
  type BlobId,
  entriesOf,
  type EntryView,
  alternativesOf,
  type MessageEntry,
  type MessageId,
  type Part,
  type Seq,
  type StoredEvent,
} from "@holdfast/protocol";
import { type Redact, redactJson } from "../secrets/redact.ts";
import {
  type DocumentEntry,
  type DocumentPart,
  timestamp,
  type DocumentBlob,
  documentFormat,
  type DocumentSession,
  documentVersion,
} from "./document.ts";
import { type ExportedEntry, readHiddenEvents, VersionWriter } from "./export-versions.ts";
import { writeHtml } from "./export-html.ts";
import { writeMarkdown } from "./export-markdown.ts";

const pageSize = 200;

/** What a person sees of a session, oldest first, holding one page at a time. */
async function* readTranscript(
  { reads, redact }: Pick<ExportDeps, "reads" | "redact">,
  session: SessionRow,
): AsyncGenerator<ExportedEntry> {
  for (const before of (await pageCursors(reads, session)).toReversed()) {
    const query = { limit: pageSize, ...(before !== undefined && { before }) };
    const page = await reads.entries(session.owner, session.id, query);
    const position = before === undefined ? "newest" : "earlier";
    const events = await withAmendments(reads, session, page?.entries ?? [], position);
    yield* exportEntries(events, session, redact);
  }
}

/** Everything in view, and then what is part of other versions, each of them once. */
async function* readAllVersions(
  deps: ExportDeps,
  session: SessionRow,
  versions: VersionWriter,
): AsyncGenerator<ExportedEntry> {
  for await (const entry of readTranscript(deps, session)) {
    versions.add(entry);
    yield entry;
  }
  if (deps.versions === "shown") return;
  for await (const { events, view } of readHiddenEvents(deps.reads, session)) {
    const amended = await withAmendments(deps.reads, view, events, "earlier");
    for (const entry of exportEntries(amended, session, deps.redact)) {
      versions.add(entry);
      yield { ...entry, isHidden: true };
    }
  }
}

function* exportEntries(
  events: readonly StoredEvent[],
  session: SessionRow,
  redact: Redact,
): Generator<ExportedEntry> {
  for (const entry of entriesOf(events)) {
    const written = writeEntry(entry, redact);
    if (written === undefined) continue;
    const version = entry.type === "message" ? versionOf(session, entry.messageId) : undefined;
    yield { seq: entry.seq, entry: written, ...(version && { version }) };
  }
}

function versionOf({ alternatives }: SessionRow, message: MessageId) {
  const found = alternativesOf(alternatives, message);
  return found === null ? undefined : { number: found.index + 1, count: found.set.length };
}

/** Pages are read from the end; only their cursors are kept. */
async function pageCursors(reads: Reads, { owner, id, head }: SessionRow) {
  // Later entries are not part of the export.
  const beginnings: (Seq | undefined)[] = [(head + 1) as Seq];
  for (;;) {
    const before = beginnings.at(-1);
    const query = { limit: pageSize, ...(before !== undefined && { before }) };
    const page = await reads.entries(owner, id, query);
    const first = page?.entries[0];
    if (page === null || !page.more || first === undefined) return beginnings;
    beginnings.push(first.seq);
  }
}

const importedEntry = z.looseObject({ originalAt: timestamp.optional() });

/** The original time, also of an imported entry. */
function timeOf(entry: EntryView): number {
  return importedEntry.safeParse(entry).data?.originalAt ?? entry.at;
}

function writeEntry(entry: EntryView, redact: Redact): DocumentEntry | undefined {
  const at = timeOf(entry);
  switch (entry.type) {
    case "message":
      return writeMessage(entry, at, redact);
    case "notice":
      return { type: "notice", at, kind: entry.kind.slice(0, 100), text: redact(entry.text) };
    case "compaction":
      return { type: "notice", at, kind: "summary", text: redact(entry.summary) };
    case "epoch":
      return undefined;
  }
}

function writeMessage(entry: MessageEntry, at: number, redact: Redact): DocumentEntry | undefined {
  const deps = entry.parts.flatMap((part) => writePart(part, redact) ?? []);
  if (deps.length === 0) return undefined;
  return {
    type: "message",
    role: entry.role,
    at,
    parts: deps,
    ...(entry.model !== undefined && { model: entry.model }),
    ...(entry.partial !== undefined && { partial: entry.partial }),
    ...(entry.superseded && { superseded: true as const }),
  };
}

function writePart(part: Part, redact: Redact): DocumentPart | undefined {
  switch (part.type) {
    case "text":
    case "reasoning":
      return { type: part.type, text: redact(part.text) };
    case "tool_call": {
      const { type, callId, name, input } = part;
      return { type, callId, name, input: redactJson(input, redact) };
    }
    case "tool_result": {
      const { type, callId, name, outcome, output } = part;
      return { type, callId, name, outcome, output: redact(output) };
    }
    case "file": {
      const { type, blobId, name, mediaType, size } = part;
      return { type, blobId, name, mediaType, size };
    }
    case "image": {
      const { type, blobId, mediaType, name, width, height } = part;
      return {
        type,
        blobId,
        mediaType,
        ...(name !== undefined && { name }),
        ...(width !== undefined && { width }),
        ...(height !== undefined && { height }),
      };
    }
    case "notice":
      return { type: "notice", kind: part.kind, text: redact(part.text) };
    case "attached":
      // Context given to the model may reveal other sessions.
      return undefined;
  }
}

function blobIdsIn(entry: DocumentEntry): readonly BlobId[] {
  if (entry.type !== "message") return [];
  return entry.parts.flatMap((part) => ("blobId" in part ? [part.blobId] : []));
}

export type ExportFormat = "json" | "md" | "html";

export interface ExportDeps {
  readonly reads: Reads;
  readonly redact: Redact;
  readonly exportedAt: number;
  /** Whether other versions of edited and retried messages are part of it. */
  readonly versions: "all" | "shown";
  /** Where the document can link to an attachment; without it they are only named. */
  readonly fileHref?: FileHref;
}

export type FileHref = (file: {
  readonly blobId: BlobId;
  readonly name: string;
  readonly mediaType: string;
}) => string;

/** Attachments beyond this are named and left out. */
const maxBlobBytes = 24 * 1024 * 1024;

/** The document in chunks. */
export function exportSession(
  deps: ExportDeps,
  session: SessionRow,
  format: ExportFormat,
): AsyncGenerator<string> {
  const versions = new VersionWriter(session);
  const entries = readAllVersions(deps, session, versions);
  switch (format) {
    case "json":
      return writeJson(deps, session, entries, versions);
    case "md":
      return writeMarkdown(titleOfDocument(session, deps), entries, deps.fileHref);
    case "html":
      return writeHtml(titleOfDocument(session, deps), entries, {
        readBlob: (id) => readBlob(deps.reads, session, id),
        ...(deps.fileHref && { fileHref: deps.fileHref }),
      });
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

/** One entry per line, so that plain tools can search a document. */
async function* writeJson(
  { reads, redact, exportedAt, versions: wanted }: ExportDeps,
  session: SessionRow,
  entries: AsyncIterable<ExportedEntry>,
  versions: VersionWriter,
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
  const blobIds = new Set<BlobId>();
  yield `{"format":${JSON.stringify(documentFormat)},"version":${documentVersion},"exportedAt":${exportedAt},\n`;
  yield `"session":${JSON.stringify(about)},\n"entries":[`;
  let comma = "";
  let isHiding = false;
  for await (const { entry, isHidden = false } of entries) {
    if (isHidden && !isHiding) {
      yield `\n],\n"hidden":[`;
      comma = "";
      isHiding = true;
    }
    for (const id of blobIdsIn(entry)) blobIds.add(id);
    yield `${comma}\n${JSON.stringify(entry)}`;
    comma = ",";
  }
  yield "\n],\n";
  const alternatives = wanted === "all" ? await versions.write(reads) : null;
  if (alternatives !== null) yield `"alternatives":${JSON.stringify(alternatives)},\n`;
  yield `"blobs":[`;
  comma = "";
  let room = maxBlobBytes;
  for (const id of blobIds) {
    const blob = await readableBlob(reads, session.owner, id);
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

/** The original creation time, also of an imported session. */
async function originalCreatedAt(
  reads: Reads,
  { owner, id, createdAt }: SessionRow,
): Promise<number> {
  const page = await reads.events(owner, id, { after: 0 as Seq, limit: 1 });
  const [first] = page?.events ?? [];
  return importedSession.safeParse(first?.data).data?.imported.originalAt ?? createdAt;
}

async function readBlob(reads: Reads, { owner }: SessionRow, id: BlobId) {
  const blob = await readableBlob(reads, owner, id);
  return blob === null ? undefined : { mediaType: blob.mediaType, bytes: blob.bytes };
}
