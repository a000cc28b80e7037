import { readableBlob, type SessionRow, type Store } from "@holdfast/engine";
import type { BlobId, OwnerId } from "@holdfast/protocol";
import { Zip, ZipDeflate } from "fflate";

import { escapeHtml } from "../../util/escape-html.ts";
import { safeFileName } from "../../util/safe-file-name.ts";
import type { Redact } from "../secrets/redact.ts";
import { exportSession } from "../transfer/export.ts";
import { pagePolicy, pageStyle } from "../transfer/export-html.ts";
import { formatTime } from "../transfer/export-markdown.ts";

export interface PagesDeps {
  readonly store: Pick<Store, "audit" | "reads">;
  /** Whose sessions. */
  readonly owner: OwnerId;
  readonly redact: Redact;
  readonly exportedAt: number;
}

/** The zip format's own limit without an extension that not every program reads. */
const maxZipBytes = 4 * 1024 ** 3 - 1;

/**
 * A zip with an index, a document for each session, and the files that were attached. Documents need no script and no
 * network, and what was said in them is text.
 */
export async function* writePages(
  { store, owner, redact, exportedAt }: PagesDeps,
  format: "md" | "html",
): AsyncGenerator<Uint8Array> {
  const zip = new ZipPieces();
  const sessions: ListedSession[] = [];
  const files = new AttachedFiles(store.reads);
  const fileHref = files.hrefFor(owner);
  for await (const { id, owner: whose } of store.audit.sessions()) {
    const session = whose === owner ? await store.reads.session(owner, id) : null;
    if (session === null) continue;
    const name = `${String(sessions.length + 1).padStart(5, "0")}-${safeFileName(redact(session.title ?? "Untitled")).slice(0, 60)}.${format}`;
    sessions.push(listed(session, `sessions/${name}`, redact));
    const deps = { reads: store.reads, redact, exportedAt, versions: "all" } as const;
    yield* zip.add(`sessions/${name}`, exportSession({ ...deps, fileHref }, session, format));
    for await (const { path, bytes } of files.take()) yield* zip.add(path, [bytes]);
  }
  const index =
    format === "html" ? htmlIndex(sessions, exportedAt) : markdownIndex(sessions, exportedAt);
  yield* zip.add(`index.${format}`, [index]);
  yield* zip.end();
}

interface ListedSession {
  readonly title: string;
  readonly path: string;
  readonly shelf: "active" | "archived" | "trash";
  readonly about: string;
  readonly activityAt: number;
}

function listed(session: SessionRow, path: string, redact: Redact): ListedSession {
  const { title, activityAt, archived, trashedAt, project, tags, messageCount } = session;
  const parts = [
    formatTime(activityAt).slice(0, 10),
    `${messageCount} messages`,
    ...(project === null ? [] : [project]),
    ...tags,
  ];
  return {
    title: redact(title ?? "Untitled"),
    path,
    shelf: trashedAt !== null ? "trash" : archived ? "archived" : "active",
    about: redact(parts.join(" · ")),
    activityAt,
  };
}

const shelves = [
  ["active", "Conversations"],
  ["archived", "Archived"],
  ["trash", "In the trash"],
] as const;

function* shelvesOf(sessions: readonly ListedSession[]) {
  for (const [shelf, heading] of shelves) {
    const found = sessions
      .filter((session) => session.shelf === shelf)
      .toSorted((a, b) => b.activityAt - a.activityAt);
    if (found.length > 0) yield { heading, found };
  }
}

function htmlIndex(sessions: readonly ListedSession[], exportedAt: number): string {
  let text = `<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n`;
  text += `<meta http-equiv="Content-Security-Policy" content="${escapeHtml(pagePolicy)}">\n`;
  text += `<meta name="referrer" content="no-referrer">\n`;
  text += `<meta name="viewport" content="width=device-width, initial-scale=1">\n`;
  text += `<title>Conversations</title>\n<style>${pageStyle}</style>\n</head>\n<body>\n`;
  text += `<p>${sessions.length} conversations, exported ${formatTime(exportedAt)}.</p>\n`;
  for (const { heading, found } of shelvesOf(sessions)) {
    text += `<h1>${heading}</h1>\n`;
    for (const { title, path, about } of found)
      text += `<article><a href="${escapeHtml(addressOf(path))}">${escapeHtml(title)}</a>\n<header>${escapeHtml(about)}</header></article>\n`;
  }
  return `${text}</body>\n</html>\n`;
}

function markdownIndex(sessions: readonly ListedSession[], exportedAt: number): string {
  let text = `${sessions.length} conversations, exported ${formatTime(exportedAt)}.\n`;
  for (const { heading, found } of shelvesOf(sessions)) {
    text += `\n# ${heading}\n\n`;
    for (const { title, path, about } of found)
      text += `- [${title.replaceAll(/[[\]\\\s]+/g, " ")}](${addressOf(path)}) ${about.replaceAll(/\s+/g, " ")}\n`;
  }
  return text;
}

/** Programs open these without running anything in them; any other type gets a name that nothing opens. */
const harmless =
  /\.(png|jpe?g|gif|webp|pdf|txt|md|csv|json|ya?ml|log|zip|gz|docx|xlsx|pptx|odt|ods|mp3|wav|ogg|mp4|webm)$/i;

interface AttachedFile {
  readonly owner: OwnerId;
  readonly id: BlobId;
  readonly path: string;
}

class AttachedFiles {
  readonly #reads: Store["reads"];
  readonly #named = new Set<string>();
  #waiting: AttachedFile[] = [];

  constructor(reads: Store["reads"]) {
    this.#reads = reads;
  }

  hrefFor(owner: OwnerId) {
    return ({ blobId: id, name }: { readonly blobId: BlobId; readonly name: string }): string => {
      const safe = safeFileName(name);
      const path = `files/${id.slice(5, 21)}/${harmless.test(safe) ? safe : `${safe}.bin`}`;
      if (!this.#named.has(path)) this.#waiting.push({ owner, id, path });
      this.#named.add(path);
      return `../${addressOf(path)}`;
    };
  }

  /** Those that were linked since the last call. */
  async *take(): AsyncGenerator<{ readonly path: string; readonly bytes: Uint8Array }> {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { owner, id, path } of waiting) {
      const blob = await readableBlob(this.#reads, owner, id);
      if (blob !== null) yield { path, bytes: blob.bytes };
    }
  }
}

/** Also inside the parentheses of a Markdown link. */
function addressOf(path: string): string {
  return encodeURI(path).replaceAll("(", "%28").replaceAll(")", "%29");
}

/** A zip that is sent on as it grows. */
class ZipPieces {
  readonly #zip: Zip;
  readonly #encoder = new TextEncoder();
  #pieces: Uint8Array[] = [];
  #bytes = 0;

  constructor() {
    this.#zip = new Zip((error, piece) => {
      if (error !== null) throw error;
      this.#pieces.push(piece);
      this.#bytes += piece.byteLength;
      if (this.#bytes > maxZipBytes)
        throw new Error("A zip holds at most 4 GiB; the JSON lines hold more.");
    });
  }

  async *add(
    path: string,
    content: AsyncIterable<string> | Iterable<string | Uint8Array>,
  ): AsyncGenerator<Uint8Array> {
    const file = new ZipDeflate(path, { level: 6 });
    this.#zip.add(file);
    for await (const part of content) {
      file.push(typeof part === "string" ? this.#encoder.encode(part) : part);
      yield* this.#taken();
    }
    file.push(new Uint8Array(0), true);
    yield* this.#taken();
  }

  *end(): Generator<Uint8Array> {
    this.#zip.end();
    yield* this.#taken();
  }

  *#taken(): Generator<Uint8Array> {
    const pieces = this.#pieces;
    this.#pieces = [];
    yield* pieces;
  }
}
