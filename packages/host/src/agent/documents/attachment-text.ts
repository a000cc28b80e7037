import { readableBlob, type Reads, type Recall } from "@holdfast/engine";
import type { Attachment, AttachedPart } from "@holdfast/protocol";

import { safeFileName } from "../../util/safe-file-name.ts";
import type { PdfReader, PdfText } from "./pdf-reader.ts";

/** In characters, of all attachments of a message together. The rest can be read with `read_file`. */
const maxLength = 60_000;
const maxSourceLength = 100;

/**
 * Gives the model the text of what is attached to a message: of a PDF page by page, of a text file as it is. It becomes
 * a part of the entry, so the model gets the same bytes with every later step (P9).
 */
export function readAttachedTexts(pdfs: PdfReader, reads: Pick<Reads, "blob">): Recall {
  return async ({ owner, attachments = [] }) => {
    const parts: AttachedPart[] = [];
    let room = maxLength;
    for (const attachment of attachments) {
      if (attachment.type === "image") continue;
      const blob = await readableBlob(reads, owner, attachment.blobId);
      const part = blob === null ? null : await textPartOf(attachment, blob.bytes, pdfs, room);
      if (part === null) continue;
      room = Math.max(0, room - part.text.length);
      parts.push(part);
    }
    return parts;
  };
}

async function textPartOf(
  { name, blobId, mediaType }: Extract<Attachment, { type: "file" }>,
  bytes: Uint8Array,
  pdfs: PdfReader,
  room: number,
): Promise<AttachedPart | null> {
  const source = `file ${safeFileName(name)}`.slice(0, maxSourceLength).toWellFormed();
  if (isPdf(mediaType, bytes)) {
    const read = await pdfs.read(bytes);
    if (read.status === "unreadable") return { type: "attached", source, text: read.message };
    const text = pdfExcerpt(read, room);
    return { type: "attached", source, text, blobId, pages: read.pages };
  }
  const text = /^(?:image|audio|video)\/(?!svg)/.test(mediaType) ? null : beginningOf(bytes, room);
  return text === null ? null : { type: "attached", source, text };
}

const pdfType = "application/pdf";

/** Programs and chat platforms sometimes send one as unknown bytes. */
export function isPdf(mediaType: string, bytes: Uint8Array): boolean {
  if (mediaType.startsWith(pdfType)) return true;
  return Buffer.from(bytes.subarray(0, 5)).toString("latin1") === "%PDF-";
}

/** The pages that fit, each under its number, and which ones are left out. */
export function pdfExcerpt(
  { pages, texts }: Extract<PdfText, { status: "read" }>,
  room: number,
  from = 1,
): string {
  if (texts.every((text) => text === "")) return noPdfText(pages);
  const shown: string[] = [];
  let remaining = room;
  let next = from;
  for (const text of texts) {
    if (remaining < text.length && shown.length > 0) break;
    const cut = text.slice(0, Math.max(0, remaining)).toWellFormed();
    shown.push(
      `[page ${next} of ${pages}]\n${cut}${cut === text ? "" : "\n[the page is cut here]"}`,
    );
    remaining -= text.length;
    next += 1;
  }
  return [...shown, ...(next > pages ? [] : [leftOutNote(next, pages)])].join("\n\n");
}

function leftOutNote(first: number, last: number): string {
  return first === last
    ? `[Page ${first} is left out: read_file shows it, from: ${first}.]`
    : `[Pages ${first} to ${last} are left out: read_file shows them, from: ${first}.]`;
}

function noPdfText(pages: number): string {
  return `[No text was found on the ${pages === 1 ? "page" : `${pages} pages`} of this PDF: it may be scanned. Only a model that accepts PDFs can see what it says.]`;
}

/** Enough for the excerpt, whatever the characters are. */
const maxBytesPerCharacter = 4;

/** The beginning of a text in UTF-8, or in UTF-16 with its mark; `null` if the bytes are not text. */
function beginningOf(bytes: Uint8Array, room: number): string | null {
  const head = bytes.subarray(0, maxLength * maxBytesPerCharacter);
  const isWhole = head.length === bytes.length;
  const whole = decodeAs(encodingOf(bytes), head, isWhole);
  if (whole === null) return null;
  if (isWhole && whole.length <= room) return whole;
  const cut = whole.slice(0, room);
  const lineEnd = cut.lastIndexOf("\n");
  const shown = lineEnd === -1 ? cut.toWellFormed() : cut.slice(0, lineEnd);
  const next = shown === "" ? 1 : shown.split("\n").length + 1;
  return `${shown}\n[The rest of ${bytes.length} bytes is left out: read_file shows it, from: ${next}.]`.trim();
}

/** The whole text, or `null` if the bytes are none. */
export function decodeText(bytes: Uint8Array): string | null {
  return decodeAs(encodingOf(bytes), bytes, true);
}

function encodingOf([first, second]: Uint8Array): string {
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : "utf-8";
}

function decodeAs(encoding: string, bytes: Uint8Array, isWhole: boolean): string | null {
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes, { stream: !isWhole });
    return text.includes("\0") ? null : text.replaceAll("\r\n", "\n");
  } catch {
    return null;
  }
}
