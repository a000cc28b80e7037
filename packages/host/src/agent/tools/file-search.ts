import { Worker } from "node:worker_threads";
import type { ToolContext, ToolResult } from "@holdfast/engine";

/** What the search thread should look for, below a folder of a workspace. */
export type SearchJob = {
  readonly root: string;
  readonly path: string;
  readonly unreadable?: readonly string[] | undefined;
} & (
  | { readonly kind: "list"; readonly depth: number }
  | { readonly kind: "glob"; readonly pattern: string }
  | {
      readonly kind: "grep";
      readonly files: string | undefined;
      readonly pattern: string;
      readonly flags: string;
      /** Of one file. */
      readonly maxLines: number;
    }
);

export type SearchMessage =
  | { readonly kind: "found"; readonly lines: readonly string[] }
  | { readonly kind: "over" }
  | { readonly kind: "failed"; readonly message: string };

export interface SearchOutput {
  readonly maxLines: number;
  readonly maxLength: number;
  readonly whenNone: string;
  readonly whenMore: string;
}

/** `write` gets each line as it is found. */
export type FileSearch = (
  job: SearchJob,
  output: SearchOutput,
  context: Pick<ToolContext, "signal"> & Partial<Pick<ToolContext, "write">>,
) => Promise<ToolResult>;

export interface FileSearchOptions {
  readonly limitMs?: number;
}

const defaultLimitMs = 15_000;
const idleMs = 10_000;
/** Each may take 256 MB and a processor, however many searches a step asks for. */
const maxThreads = 2;

/**
 * Searches in a thread: a model's regular expression or a pattern in a `.gitignore` may run forever, and only
 * terminating the thread stops it. A finished thread is kept for a while for the next search. When all threads are
 * busy a search waits, and its time starts when it gets one.
 */
export function createFileSearch({ limitMs = defaultLimitMs }: FileSearchOptions = {}): FileSearch {
  let idle: { readonly worker: Worker; readonly timer: NodeJS.Timeout } | undefined;

  function takeWorker(): Worker {
    if (idle === undefined) return startWorker();
    const { worker, timer } = idle;
    idle = undefined;
    clearTimeout(timer);
    worker.removeAllListeners("error");
    worker.removeAllListeners("exit");
    worker.ref();
    return worker;
  }

  function keepWorker(worker: Worker): void {
    if (idle !== undefined) return void worker.terminate();
    const forget = (): void => {
      if (idle?.worker === worker) idle = undefined;
    };
    const timer = setTimeout(() => {
      forget();
      void worker.terminate();
    }, idleMs).unref();
    worker.once("exit", forget);
    worker.unref();
    idle = { worker, timer };
  }

  const search: FileSearch = async (
    job,
    { maxLines, maxLength, whenNone, whenMore },
    { signal, write },
  ) => {
    const lines: string[] = [];
    let remaining = maxLength;
    const { promise, resolve } = Promise.withResolvers<ToolResult>();
    const worker = takeWorker();
    const end = (outcome: ToolResult["outcome"], more = ""): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", cancel);
      worker.removeAllListeners("message");
      resolve({ outcome, output: [...lines, ...(more === "" ? [] : [more])].join("\n") });
    };
    const stop = (outcome: ToolResult["outcome"], more?: string): void => {
      end(outcome, more);
      void worker.terminate();
    };
    const cancel = (): void => stop("cancelled");
    const timer = setTimeout(() => {
      const message = `[It took longer than ${limitMs} ms and was stopped. Use a simpler expression, or look at less.]`;
      stop(lines.length > 0 ? "ok" : "failed", message);
    }, limitMs);
    signal.addEventListener("abort", cancel, { once: true });
    worker.on("message", (note: SearchMessage) => {
      if (note.kind !== "found") {
        end(...resultOf(note, lines.length === 0 ? whenNone : ""));
        return keepWorker(worker);
      }
      for (const line of note.lines) {
        if (lines.length >= maxLines || remaining <= 0) return stop("ok", whenMore);
        remaining -= line.length;
        lines.push(line);
        write?.(`${line}\n`);
      }
    });
    worker.on("error", (error) => end("failed", error.message));
    worker.postMessage(job, []);
    return promise;
  };

  let searching = 0;
  const areAllBusy = (): boolean => searching >= maxThreads;
  const waiting = new Set<() => void>();

  function wakeNext(): void {
    const [next] = waiting;
    next?.();
  }

  /** Resolves when another search has ended, or at the signal. */
  function untilNextEnds(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const go = (): void => {
        waiting.delete(go);
        signal.removeEventListener("abort", go);
        resolve();
      };
      waiting.add(go);
      signal.addEventListener("abort", go, { once: true });
    });
  }

  return async (job, output, context) => {
    const { signal } = context;
    while (areAllBusy() && !signal.aborted) await untilNextEnds(signal);
    if (signal.aborted) {
      // It may have been woken just before: its turn is another's then.
      if (!areAllBusy()) wakeNext();
      return { outcome: "cancelled", output: "" };
    }
    searching += 1;
    try {
      return await search(job, output, context);
    } finally {
      searching -= 1;
      wakeNext();
    }
  };
}

function resultOf(
  note: Exclude<SearchMessage, { kind: "found" }>,
  whenOver: string,
): [ToolResult["outcome"], string] {
  return note.kind === "failed" ? ["failed", note.message] : ["ok", whenOver];
}

function startWorker(): Worker {
  return new Worker(new URL("./search-worker.ts", import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: 256 },
  });
}
