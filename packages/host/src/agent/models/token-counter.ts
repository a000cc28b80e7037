import { Worker } from "node:worker_threads";
import { z } from "zod";
import { type CountTokens, shortHash, systemClock } from "@holdfast/engine";
import { withTimeout } from "@holdfast/protocol";

/**
 * A fast estimate without a tokenizer, rather too high than too low: a context must not be cut by too low a count, and
 * too high a one is corrected by the provider's usage.
 */
export function estimateTokens(text: string): number {
  if (text.length <= slices * sliceLength) return Math.ceil(countRuns(text));
  // Very long texts are sampled.
  const step = (text.length - sliceLength) / (slices - 1);
  let tokens = 0;
  for (let index = 0; index < slices; index += 1) {
    const from = Math.floor(index * step);
    tokens += countRuns(text.slice(from, from + sliceLength));
  }
  return Math.ceil((tokens * text.length) / (slices * sliceLength));
}

const slices = 16;
const sliceLength = 1_500;

function countRuns(text: string): number {
  let tokens = 0;
  for (const [run] of text.matchAll(runs)) tokens += tokensIn(run);
  return tokens;
}

/** Runs of one kind: a tokenizer does not merge across them, except for the space before a word. */
const runs =
  /[A-Za-z]+|[0-9]+|[ \t]+|[\r\n]+|[\u0370-\u052f\u0590-\u06ff\u10a0-\u10ff]+|[\u00c0-\u024f]+|[\u0900-\u0dff\u0e00-\u0eff]+|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+|[\u0021-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u007e]+|[^]/gu;

function tokensIn(run: string): number {
  const { length } = run;
  const code = run.codePointAt(0) ?? 0;
  if (code <= 0x20) return run === " " ? 0 : 1 + length / 8;
  if (code >= 0x30 && code <= 0x39) return Math.ceil(length / 3);
  if (code < 0x7f) return isLetter(code) ? lettersIn(run) : Math.max(1, length * 0.7);
  if (code < 0x0250) return length * 1.1;
  if (code < 0x0700) return Math.max(1, length * 0.75);
  if (code < 0x0f00) return Math.max(1, length * 1.1);
  if (code >= 0x3040 && code <= 0xfaff) return Math.max(1, length * 1.4);
  // Rare characters are encoded byte by byte.
  return code > 0xffff ? 4 : 3;
}

function isLetter(code: number): boolean {
  return (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a);
}

/** A word is one token or two; anything else, or mixed case, is split further. */
function lettersIn(run: string): number {
  const { length } = run;
  if (length <= 2) return 1;
  if (!isWord(run)) return Math.max(1, length / 1.8);
  return Math.max(1, length / (run === run.toUpperCase() ? 2.8 : 4));
}

function isWord(run: string): boolean {
  return run.length <= 14 && word.test(run) && /[aeiouy]/i.test(run) && !unspeakable.test(run);
}

const word = /^(?:[A-Za-z]?[a-z]*|[A-Z]+)$/;
const unspeakable =
  /[^aeiouy]{4}|q[^u]|[jqvx][^aeiouy]|[^aeiouyct][jqxz]|z[^aeiouyz]|[^aeiouynrlst]{3}/i;

export interface TokenCounter {
  /** The tokenizer's count if known, otherwise an estimate. */
  readonly count: CountTokens;
  /** Has the long texts counted, for as long as the caller wants to wait. */
  preload(texts: Iterable<string>, timeoutMs: number): Promise<void>;
  /** Frees the worker's memory. */
  close(): Promise<void>;
}

/** For shorter texts the estimate is as good. */
const minCountedLength = 200;
/** In characters. More is not worth the tokenizer's time. */
const maxBatchLength = 4_000_000;
const maxCachedCounts = 10_000;
const idleMs = 60_000;

const workerAnswer = z.object({ id: z.number(), tokens: z.number() });

/** Counts by block: a counted text is cached by its hash, in whatever conversation it occurs. */
export function createTokenCounter(): TokenCounter {
  const known = new Map<string, number>();
  let thread: TokenWorker | null = null;
  let idle: NodeJS.Timeout | undefined;

  function remember(hash: string, tokens: number): void {
    known.set(hash, tokens);
    for (const oldest of known.keys()) {
      if (known.size <= maxCachedCounts) break;
      known.delete(oldest);
    }
  }

  async function close(): Promise<void> {
    clearTimeout(idle);
    const closing = thread;
    thread = null;
    await closing?.close();
  }

  async function learn(texts: Iterable<string>, timeoutMs: number): Promise<void> {
    const pending = new Map<string, string>();
    let room = maxBatchLength;
    for (const text of texts) {
      if (text.length < minCountedLength || text.length > room) continue;
      const hash = shortHash(text);
      if (known.has(hash) || pending.has(hash)) continue;
      pending.set(hash, text);
      room -= text.length;
    }
    if (pending.size === 0) return;
    thread ??= openTokenWorker();
    clearTimeout(idle);
    idle = setTimeout(() => void close(), idleMs).unref();
    const { ask } = thread;
    const counting = [...pending].map(async ([hash, text]) => {
      const tokens = await ask(text);
      if (tokens !== null) remember(hash, tokens);
    });
    await withTimeout({ clock: systemClock, ms: timeoutMs }, () => Promise.all(counting));
  }

  return {
    count(text) {
      if (text.length < minCountedLength || known.size === 0) return estimateTokens(text);
      return known.get(shortHash(text)) ?? estimateTokens(text);
    },
    preload: learn,
    close,
  };
}

interface TokenWorker {
  /** Resolves to `null` if the worker is gone. */
  readonly ask: (text: string) => Promise<number | null>;
  readonly close: () => Promise<void>;
}

function openTokenWorker(): TokenWorker {
  const worker = new Worker(new URL("./token-worker.ts", import.meta.url), {
    // Its objects are short-lived, and V8 would reserve up to 134 MB for them.
    resourceLimits: { maxYoungGenerationSizeMb: 12 },
  });
  const waiting = new Map<number, (tokens: number | null) => void>();
  let last = 0;
  const giveUp = (): void => {
    for (const resolve of waiting.values()) resolve(null);
    waiting.clear();
  };
  worker.on("message", (message: unknown) => {
    const { id, tokens } = workerAnswer.parse(message);
    waiting.get(id)?.(tokens);
    waiting.delete(id);
  });
  worker.on("error", giveUp);
  worker.on("exit", giveUp);
  // After adding the listeners, since a listener references the worker again and would keep the process alive.
  worker.unref();
  return {
    ask: (text) =>
      new Promise((resolve) => {
        last += 1;
        waiting.set(last, resolve);
        worker.postMessage({ id: last, text }, []);
      }),
    close: async () => void (await worker.terminate()),
  };
}
