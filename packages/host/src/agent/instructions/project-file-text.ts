import { readableBlob, type Reads } from "@holdfast/engine";
import { maxProjectFileCharacters, type OwnerId } from "@holdfast/protocol";

import { decodeText, isPdf } from "../documents/attachment-text.ts";
import type { PdfReader } from "../documents/pdf-reader.ts";
import { hideHeaders, promptBlock } from "../prompt-blocks.ts";
import type { ProjectFile } from "./project-files.ts";

/** Less of a file is not worth its place. */
const minExcerpt = 200;

/** Empty if there are none. */
export function filesSignature(files: readonly ProjectFile[]): string {
  return files.length === 0 ? "" : JSON.stringify(files.map(({ name, blobId }) => [name, blobId]));
}

/**
 * The texts of a project's files, in the order of their names, as far as they fit. What is cut or left out is named, so
 * that the model does not take a part for the whole.
 */
export async function projectFilesText(
  files: readonly ProjectFile[],
  owner: OwnerId,
  { reads, pdfs }: { readonly reads: Pick<Reads, "blob">; readonly pdfs: PdfReader },
): Promise<string> {
  if (files.length === 0) return "";
  const shown: string[] = [];
  const leftOut: string[] = [];
  let room = maxProjectFileCharacters;
  for (const { name, blobId } of files) {
    if (room < minExcerpt) {
      leftOut.push(name);
      continue;
    }
    const blob = await readableBlob(reads, owner, blobId);
    const text = blob === null ? "[The file is missing.]" : await textOf(blob, pdfs);
    const { cut, rest } = cutAt(text, room);
    room -= cut.length;
    const note = rest === 0 ? [] : [`[The last ${rest} characters of ${name} are left out here.]`];
    shown.push([`${name}:`, ...fenced(cut), ...note].join("\n"));
  }
  if (leftOut.length > 0)
    shown.push(
      `Left out, because the files of the project are too long together: ${leftOut.join(", ")}.`,
    );
  return promptBlock("files", hideHeaders(shown.join("\n\n")));
}

async function textOf(
  { mediaType, bytes }: { readonly mediaType: string; readonly bytes: Uint8Array },
  pdfs: PdfReader,
): Promise<string> {
  if (!isPdf(mediaType, bytes)) return decodeText(bytes) ?? "[The file is no text.]";
  const read = await pdfs.read(bytes);
  if (read.status === "unreadable") return `[${read.message}]`;
  const { pages, texts } = read;
  if (texts.every((text) => text === "")) return "[No text was found in this PDF.]";
  const unread = pages - texts.length;
  return [
    ...texts.map((text, index) => `[page ${index + 1} of ${pages}]\n${text}`),
    ...(unread > 0 ? [`[The last ${unread} pages are left out.]`] : []),
  ].join("\n\n");
}

/** At the end of a line, if there is one. */
function cutAt(text: string, room: number): { readonly cut: string; readonly rest: number } {
  if (text.length <= room) return { cut: text, rest: 0 };
  const head = text.slice(0, room);
  const lineEnd = head.lastIndexOf("\n");
  const cut = lineEnd <= 0 ? head.replace(/[\uD800-\uDBFF]$/u, "") : head.slice(0, lineEnd);
  return { cut, rest: text.length - cut.length };
}

/** Nothing in the text ends the fence. */
function fenced(text: string): readonly string[] {
  const longest = Math.max(0, ...Array.from(text.matchAll(/`+/gu), ([run]) => run.length));
  const fence = "`".repeat(Math.max(3, longest + 1));
  return [fence, text, fence];
}
