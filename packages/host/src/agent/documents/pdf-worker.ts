import { parentPort } from "node:worker_threads";
import { getDocumentProxy } from "unpdf";

import type { PdfJob, PdfMessage } from "./pdf-reader.ts";

type PdfDocument = Awaited<ReturnType<typeof getDocumentProxy>>;

const post = (message: PdfMessage): void => parentPort?.postMessage(message, []);

async function read({ bytes, from, maxPages, maxLength }: PdfJob): Promise<void> {
  const pdf = await getDocumentProxy(bytes, {
    // Nothing of the file is run, drawn or fetched.
    disableFontFace: true,
    useSystemFonts: false,
    useWasm: false,
    enableXfa: false,
    verbosity: 0,
  });
  post({ kind: "opened", pages: pdf.numPages });
  let remaining = maxLength;
  const last = Math.min(pdf.numPages, from + maxPages - 1);
  for (let page = from; page <= last && remaining > 0; page += 1) {
    const text = await textOfPage(pdf, page, remaining);
    remaining -= text.length;
    post({ kind: "page", page, text });
  }
  post({ kind: "over" });
}

async function textOfPage(pdf: PdfDocument, number: number, maxLength: number): Promise<string> {
  const page = await pdf.getPage(number);
  let text = "";
  const reader = (page.streamTextContent() as ReadableStream<TextChunk>).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    for (const item of value.items)
      if (item.str !== undefined) text += item.hasEOL === true ? `${item.str}\n` : item.str;
    if (text.length <= maxLength) continue;
    await reader.cancel(new Error("There is enough text."));
    break;
  }
  page.cleanup();
  return tidy(text.slice(0, maxLength));
}

interface TextChunk {
  readonly items: readonly { readonly str?: string; readonly hasEOL?: boolean }[];
}

/** Without control characters, and without blanks at the ends of lines. */
function tidy(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[^\P{Cc}\n\t]/gu, "")
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n")
    .trim();
}

parentPort?.once("message", (job: PdfJob) => {
  read(job).catch((error: unknown) => {
    const isEncrypted = error instanceof Error && error.name === "PasswordException";
    post({ kind: "refused", reason: isEncrypted ? "encrypted" : "damaged" });
  });
});
