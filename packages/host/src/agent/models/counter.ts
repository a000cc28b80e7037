import { Worker } from "node:worker_threads";
import { type CountTokens, shortHash } from "@holdfast/engine";
import { z } from "zod";

import { estimateTokens } from "./token-counter.ts";

export interface TokenCounter {
  /** As the tokenizer has counted it, if it has; else about. */
  readonly count: CountTokens;
  /** Has the long ones of these counted, for as long as somebody wants to wait. */
  preload(texts: Iterable<string>, patienceMs: number): Promise<void>;
  /** Gives the thread's memory back. */
  close(): Promise<void>;
}

/** Of a shorter text the estimate is as good. */
const minCountedLength = 200;
/** In characters. More than that is not worth the tokenizer's time. */
const maxBatchLength = 4_000_000;
const maxCachedCounts = 10_000;
const idleMs = 60_000;

const workerAnswer = z.object({ id: z.number(), tokens: z.number() });

/** Counts by block: what was counted once is known by its hash, whatever conversation it stands in. */
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

  async function learn(texts: Iterable<string>, patienceMs: number): Promise<void> {
    const wanted = new Map<string, string>();
    let room = maxBatchLength;
    for (const text of texts) {
      if (text.length < minCountedLength || text.length > room) continue;
      const hash = shortHash(text);
      if (known.has(hash) || wanted.has(hash)) continue;
      wanted.set(hash, text);
      room -= text.length;
    }
    if (wanted.size === 0) return;
    thread ??= openTokenWorker();
    clearTimeout(idle);
    idle = setTimeout(() => void close(), idleMs).unref();
    const { ask } = thread;
    const asked = [...wanted].map(async ([hash, text]) => {
      const tokens = await ask(text);
      if (tokens !== null) remember(hash, tokens);
    });
    const { promise, resolve } = Promise.withResolvers<void>();
    const late = setTimeout(resolve, patienceMs);
    await Promise.race([Promise.all(asked), promise]);
    clearTimeout(late);
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
  /** `null`: it is gone. */
  readonly ask: (text: string) => Promise<number | null>;
  readonly close: () => Promise<void>;
}

function openTokenWorker(): TokenWorker {
  const worker = new Worker(new URL("./token-worker.ts", import.meta.url));
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
  // Behind the listeners: to listen is to wait for what may still come, and nobody does who wants to end.
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
