import { createHash } from "node:crypto";
import { Worker } from "node:worker_threads";

import { serialQueue } from "../../util/serial-queue.ts";

/** What the PDF thread should read. */
export interface PdfJob {
  readonly bytes: Uint8Array;
  /** The first page, counted from 1. */
  readonly from: number;
  readonly maxPages: number;
  /** In characters, of all pages together. */
  readonly maxLength: number;
}

export type PdfMessage =
  | { readonly kind: "opened"; readonly pages: number }
  | { readonly kind: "page"; readonly page: number; readonly text: string }
  | { readonly kind: "over" }
  | { readonly kind: "refused"; readonly reason: "encrypted" | "damaged" };

export type PdfProblem = "pdf_encrypted" | "pdf_damaged" | "pdf_too_slow" | "pdf_too_large";

export type PdfText =
  | {
      readonly status: "read";
      /** How many pages the file has. */
      readonly pages: number;
      /** The text of each page that was read, from the first one asked for. */
      readonly texts: readonly string[];
    }
  | { readonly status: "unreadable"; readonly code: PdfProblem; readonly message: string };

export interface PdfReader {
  /** The text of a PDF, as much of it as fits, from a page on. It never fails. */
  read(bytes: Uint8Array, options?: { from?: number; signal?: AbortSignal }): Promise<PdfText>;
}

export interface PdfLimits {
  readonly bytes: number;
  readonly timeMs: number;
  /** Of the thread, outside of the heap too: a compressed page may expand to gigabytes. */
  readonly memoryBytes: number;
  readonly pages: number;
  readonly length: number;
}

export const pdfLimits: PdfLimits = {
  bytes: 32 * 1024 * 1024,
  timeMs: 15_000,
  memoryBytes: 320 * 1024 * 1024,
  pages: 500,
  length: 200_000,
};

const messages: Readonly<Record<PdfProblem, string>> = {
  pdf_encrypted: "The PDF is protected by a password. Send a copy without one.",
  pdf_damaged: "The file cannot be read as a PDF: it is damaged, or not a PDF.",
  pdf_too_slow: "Reading the PDF took too long and was stopped. Send only the pages that matter.",
  pdf_too_large:
    "Reading the PDF took too much memory and was stopped. Send only the pages that matter.",
};

const maxHeapMegabytes = 256;
const memoryCheckMs = 100;
/** In characters of all texts. */
const maxCachedLength = 2_000_000;

/**
 * Reads PDFs in threads of their own, one at a time: a hostile file may run forever or expand without end, and only
 * terminating its thread stops it. Texts are cached by the hash of the file.
 */
export function createPdfReader(limits: PdfLimits = pdfLimits): PdfReader {
  const queue = serialQueue();
  const cache = new Map<string, PdfText>();

  function remember(key: string, text: PdfText): void {
    cache.set(key, text);
    let length = [...cache.values()].reduce((sum, each) => sum + lengthOf(each), 0);
    for (const [oldest, each] of cache) {
      if (length <= maxCachedLength) break;
      cache.delete(oldest);
      length -= lengthOf(each);
    }
  }

  return {
    async read(bytes, { from = 1, signal } = {}) {
      if (bytes.byteLength > limits.bytes) return unreadable("pdf_too_large");
      const key = `${createHash("sha256").update(bytes).digest("hex")} ${from}`;
      return queue(async () => {
        const cached = cache.get(key);
        if (cached !== undefined) return cached;
        const text = await readInThread(bytes, from, limits, signal);
        // Another attempt may be quicker, and must not get this one's answer.
        const isFinal = text.status === "read" || text.code !== "pdf_too_slow";
        if (isFinal && signal?.aborted !== true) remember(key, text);
        return text;
      });
    },
  };
}

function lengthOf(text: PdfText): number {
  const base = 1_000;
  return text.status === "read" ? text.texts.reduce((sum, { length }) => sum + length, base) : base;
}

function unreadable(code: PdfProblem): PdfText {
  return { status: "unreadable", code, message: messages[code] };
}

async function readInThread(
  bytes: Uint8Array,
  from: number,
  limits: PdfLimits,
  signal: AbortSignal | undefined,
): Promise<PdfText> {
  const { promise, resolve } = Promise.withResolvers<PdfText>();
  if (signal?.aborted === true) return unreadable("pdf_too_slow");
  const worker = new Worker(new URL("./pdf-worker.ts", import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMegabytes },
  });
  let pages = 0;
  const texts: string[] = [];
  /** What was read before it had to be stopped is worth having. */
  const stop = (code: PdfProblem): void =>
    resolve(texts.length > 0 ? { status: "read", pages, texts } : unreadable(code));
  const timer = setTimeout(() => stop("pdf_too_slow"), limits.timeMs);
  const abort = (): void => stop("pdf_too_slow");
  signal?.addEventListener("abort", abort, { once: true });
  const checkMemory = async (): Promise<void> => {
    const { external_memory: outside, used_heap_size: heap } = await worker.getHeapStatistics();
    if (outside + heap > limits.memoryBytes) stop("pdf_too_large");
  };
  // A thread that has just ended has no statistics.
  const watch = setInterval(() => void checkMemory().catch(() => {}), memoryCheckMs);
  worker.on("message", (message: PdfMessage) => {
    switch (message.kind) {
      case "opened":
        pages = message.pages;
        return;
      case "page":
        texts.push(message.text);
        return;
      case "over":
        return resolve({ status: "read", pages, texts });
      case "refused":
        return stop(message.reason === "encrypted" ? "pdf_encrypted" : "pdf_damaged");
    }
  });
  // The heap is exhausted, or the library failed in a way of its own.
  worker.on("error", (error: { readonly code?: string }) =>
    stop(error.code === "ERR_WORKER_OUT_OF_MEMORY" ? "pdf_too_large" : "pdf_damaged"),
  );
  worker.on("exit", () => stop("pdf_damaged"));
  const { pages: maxPages, length: maxLength } = limits;
  const job: PdfJob = { bytes: new Uint8Array(bytes), from, maxPages, maxLength };
  worker.postMessage(job, [job.bytes.buffer as ArrayBuffer]);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    clearInterval(watch);
    signal?.removeEventListener("abort", abort);
    await worker.terminate();
  }
}
