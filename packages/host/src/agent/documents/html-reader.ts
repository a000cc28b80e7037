import { Worker } from "node:worker_threads";

import { z } from "zod";

export interface HtmlJob {
  readonly html: string;
  /** The address that links are relative to. */
  readonly base: string;
  /** In characters of the readable text. */
  readonly maxLength: number;
}

export type HtmlText =
  | { readonly status: "read"; readonly text: string }
  | { readonly status: "unreadable"; readonly message: string };

/** In characters. A page of this length takes about 5 ms, and starting a thread takes longer. */
const maxInlineLength = 100_000;
const maxHeapMegabytes = 256;

/** The readable text of a page. Three megabytes take a quarter of a second, so long pages are read in a thread. */
export async function readHtml(job: HtmlJob, signal: AbortSignal): Promise<HtmlText> {
  if (job.html.length > maxInlineLength) return readInThread(job, signal);
  // Loads the parser with the first page, not when the host starts.
  const { readableHtml } = await import("../../util/text/html.ts");
  return { status: "read", text: readableHtml(job.html, job.base, job.maxLength) };
}

async function readInThread(job: HtmlJob, signal: AbortSignal): Promise<HtmlText> {
  const { promise, resolve } = Promise.withResolvers<HtmlText>();
  const stop = (message: string): void => resolve({ status: "unreadable", message });
  const abort = (): void => stop("Reading the page was cancelled.");
  if (signal.aborted) abort();
  const worker = new Worker(new URL("./html-worker.ts", import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMegabytes },
  });
  signal.addEventListener("abort", abort, { once: true });
  worker.on("message", (text: unknown) =>
    resolve({ status: "read", text: z.string().parse(text) }),
  );
  worker.on("error", () => stop("The page is too large to read. Fetch a smaller one."));
  worker.on("exit", () => stop("The page cannot be read. Fetch another one."));
  worker.postMessage(job, []);
  try {
    return await promise;
  } finally {
    signal.removeEventListener("abort", abort);
    await worker.terminate();
  }
}
