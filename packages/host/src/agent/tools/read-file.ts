import type { FileHandle } from "node:fs/promises";

import type { Tool, ToolResult } from "@holdfast/engine";
import { z } from "zod";

import { pdfExcerpt } from "../documents/attachment-text.ts";
import { pdfLimits, type PdfReader } from "../documents/pdf-reader.ts";
import { defineTool, failed, ok } from "./define-tool.ts";
import { type FileToolDeps, openWorkspace } from "./file-tool.ts";

const defaultLines = 1_000;
const maxLines = 5_000;
const maxLineLength = 2_000;
const maxOutputLength = 48_000;
const pieceSize = 256 * 1024;

const input = z.strictObject({
  path: z.string().max(4_096).describe("From the workspace."),
  from: z.int().min(1).optional().describe("The first line, or page of a PDF, counted from 1."),
  lines: z
    .int()
    .min(1)
    .max(maxLines)
    .optional()
    .describe(`How many lines or pages; default ${defaultLines}.`),
});

export interface ReadFileDeps extends FileToolDeps {
  readonly pdfs: PdfReader;
}

export function createReadFile(deps: ReadFileDeps): Tool {
  return defineTool({
    name: "read_file",
    description:
      "Reads a text file of the workspace, with line numbers, or the text of a PDF by its pages. Long files are read in parts: the answer says where to go on.",
    input,
    replay: "safe",
    asks: "none",
    onlyReads: true,
    place: (call) => deps.workspaces.placeFor(call),
    async run({ path, from = 1, lines = defaultLines }, call, { signal }) {
      const jail = await openWorkspace(deps, call);
      const read = await jail.read(path, async ({ handle, size }) => {
        if (size === 0) return ok("[The file is empty.]");
        if (await isPdf(handle)) return readPages(deps.pdfs, handle, { from, lines, signal });
        if (await isBinary(handle)) return failed(`It is a binary file of ${size} bytes.`);
        return ok(await readLines(handle, { from, lines, signal }));
      });
      return read.ok ? read.value : failed(read.refusal.message);
    },
  });
}

async function isPdf(handle: FileHandle): Promise<boolean> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(5), 0, 5, 0);
  return buffer.subarray(0, bytesRead).toString("latin1") === "%PDF-";
}

async function readPages(
  pdfs: PdfReader,
  handle: FileHandle,
  { from, lines, signal }: Window,
): Promise<ToolResult> {
  const read = await pdfs.read(await readAtMost(handle, pdfLimits.bytes + 1), { from, signal });
  signal.throwIfAborted();
  if (read.status === "unreadable") return failed(read.message);
  if (from > read.pages) return ok(`[The PDF has ${read.pages} pages.]`);
  return ok(pdfExcerpt({ ...read, texts: read.texts.slice(0, lines) }, maxOutputLength, from));
}

/** A file that grows while it is read must not fill the memory. */
async function readAtMost(handle: FileHandle, maxBytes: number): Promise<Uint8Array> {
  const { size } = await handle.stat();
  const bytes = Buffer.alloc(Math.min(size, maxBytes));
  let at = 0;
  while (at < bytes.length) {
    const { bytesRead } = await handle.read(bytes, at, bytes.length - at, at);
    if (bytesRead === 0) break;
    at += bytesRead;
  }
  return bytes.subarray(0, at);
}

async function isBinary(handle: FileHandle): Promise<boolean> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(8_192), 0, 8_192, 0);
  return buffer.subarray(0, bytesRead).includes(0);
}

interface Window {
  readonly from: number;
  readonly lines: number;
  readonly signal: AbortSignal;
}

/** Reads in chunks and keeps only the requested lines, whatever the file's size. */
async function readLines(handle: FileHandle, { from, lines, signal }: Window): Promise<string> {
  const decoder = new TextDecoder();
  const out: string[] = [];
  let [line, remaining, rest, at] = [1, maxOutputLength, "", 0];
  const isFull = () => remaining <= 0 || line >= from + lines;
  const addLine = (text: string): void => {
    if (line >= from && !isFull()) {
      const shown = cutLine(text.replace(/\r$/, ""));
      out.push(`${line}\t${shown}`);
      remaining -= shown.length;
    }
    line += 1;
  };
  const buffer = Buffer.alloc(pieceSize);
  let isOver = false;
  while (!isOver && !isFull()) {
    signal.throwIfAborted();
    const { bytesRead } = await handle.read(buffer, 0, pieceSize, at);
    at += bytesRead;
    isOver = bytesRead === 0;
    const chunks = (
      rest + decoder.decode(buffer.subarray(0, bytesRead), { stream: !isOver })
    ).split("\n");
    // Of an endless line, only what could be shown is kept.
    rest = (chunks.pop() ?? "").slice(0, maxLineLength + 1);
    for (const text of chunks) {
      if (isFull()) return [...out, `[More follows: from ${line}.]`].join("\n");
      addLine(text);
    }
  }
  if (!isOver) return [...out, `[More follows: from ${line}.]`].join("\n");
  if (rest !== "") addLine(rest);
  return out.length === 0 ? `[The file has ${line - 1} lines.]` : out.join("\n");
}

function cutLine(text: string): string {
  return text.length <= maxLineLength
    ? text
    : `${text.slice(0, maxLineLength).toWellFormed()} [line cut]`;
}
