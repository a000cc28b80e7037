import { type DrawingRequest, type DrawingAnswer, drawingAnswer, type DrawingJob } from "./jobs.ts";

export type Drawing = Exclude<DrawingAnswer, { kind: "refused" }>;
export type DrawingOutcome = Drawing | { readonly kind: "refused"; readonly message: string };

export interface DrawingQueue {
  /** Synchronous, so that a drawing that scrolls back into view does not flicker. */
  readonly cached: (job: DrawingJob) => DrawingOutcome | undefined;
  readonly draw: (job: DrawingJob) => Promise<DrawingOutcome>;
}

export interface DrawingFrame {
  readonly post: (request: DrawingRequest) => void;
  readonly close: () => void;
}

export type OpenDrawingFrame = (onAnswer: (answer: unknown) => void) => DrawingFrame;

interface QueuedJob {
  readonly id: number;
  readonly job: DrawingJob;
  readonly settle: (outcome: DrawingOutcome) => void;
}

/** Longer than anyone would wait for a drawing, including the time to load the renderer. */
const drawTimeoutMs = 10_000;
/** Closing an idle frame frees its memory. */
const idleTimeoutMs = 30_000;
const maxCached = 300;
const maxCachedCharacters = 4_000_000;

/**
 * Draws formulas and diagrams one by one in a frame that can reach neither the page nor the host. A job that exceeds its
 * time closes the frame, and the jobs after it get a new one.
 */
export function createDrawingQueue(openFrame: OpenDrawingFrame): DrawingQueue {
  const cache = new Map<string, DrawingOutcome>();
  const inFlight = new Map<string, Promise<DrawingOutcome>>();
  const queue: QueuedJob[] = [];
  let frame: DrawingFrame | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let lastId = 0;
  let cachedCharacters = 0;

  function closeFrame(): void {
    clearTimeout(timer);
    frame?.close();
    frame = null;
  }

  function drawNext(): void {
    clearTimeout(timer);
    const [first] = queue;
    if (first === undefined) {
      timer = setTimeout(closeFrame, idleTimeoutMs);
      return;
    }
    timer = setTimeout(() => {
      closeFrame();
      settle(first.id, { kind: "refused", message: "timeout" });
    }, drawTimeoutMs);
    frame ??= openFrame((answer) => {
      const decoded = drawingAnswer.safeParse(answer);
      if (decoded.success) settle(decoded.data.id, decoded.data);
    });
    frame.post({ ...first.job, id: first.id });
  }

  function settle(id: number, outcome: DrawingOutcome): void {
    if (queue[0]?.id !== id) return;
    queue.shift()?.settle(outcome);
    drawNext();
  }

  function addToCache(key: string, outcome: DrawingOutcome): void {
    cache.set(key, outcome);
    cachedCharacters += sizeOf(key, outcome);
    for (const [oldestKey, oldest] of cache) {
      if (cache.size <= maxCached && cachedCharacters <= maxCachedCharacters) return;
      cache.delete(oldestKey);
      cachedCharacters -= sizeOf(oldestKey, oldest);
    }
  }

  return {
    cached: (job) => cache.get(JSON.stringify(job)),
    draw(job) {
      const key = JSON.stringify(job);
      const running = inFlight.get(key);
      if (running !== undefined) return running;
      const { promise, resolve } = Promise.withResolvers<DrawingOutcome>();
      inFlight.set(key, promise);
      queue.push({
        id: ++lastId,
        job,
        settle(outcome) {
          inFlight.delete(key);
          addToCache(key, outcome);
          resolve(outcome);
        },
      });
      if (queue.length === 1) drawNext();
      return promise;
    },
  };
}

function sizeOf(key: string, outcome: DrawingOutcome): number {
  return key.length + (outcome.kind === "diagram" ? outcome.svg.length : key.length * 60);
}
