import { type DrawingRequest, type DrawingAnswer, drawingAnswer, type DrawingJob } from "./jobs.ts";

export type Drawing = Exclude<DrawingAnswer, { kind: "refused" }>;
export type DrawingOutcome = Drawing | { readonly kind: "refused"; readonly message: string };

export interface DrawingQueue {
  /** What was drawn before, at once: what scrolls back into sight does not flicker. */
  readonly cached: (job: DrawingJob) => DrawingOutcome | undefined;
  readonly draw: (job: DrawingJob) => Promise<DrawingOutcome>;
}

interface QueuedJob {
  readonly id: number;
  readonly job: DrawingJob;
  readonly settle: (outcome: DrawingOutcome) => void;
}

/** Longer than any drawing takes that a person would wait for, with a renderer that is yet to be fetched. */
const drawTimeoutMs = 10_000;
/** Without work for so long, the frame goes and takes its memory along. */
const idleMs = 30_000;
const maxCached = 300;
const maxCachedCharacters = 4_000_000;

/**
 * Formulas and diagrams, drawn one after the other by a frame that can reach neither the page nor the host. One that is not
 * done in time ends the frame; those behind it get another.
 */
export function createDrawingQueue(openFrame: OpenDrawingFrame): DrawingQueue {
  const kept = new Map<string, DrawingOutcome>();
  const underWay = new Map<string, Promise<DrawingOutcome>>();
  const queue: QueuedJob[] = [];
  let frame: DrawingFrame | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let lastId = 0;
  let keptCharacters = 0;

  function end(): void {
    clearTimeout(timer);
    frame?.close();
    frame = null;
  }

  function next(): void {
    clearTimeout(timer);
    const [first] = queue;
    if (first === undefined) {
      timer = setTimeout(end, idleMs);
      return;
    }
    timer = setTimeout(() => {
      end();
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
    next();
  }

  function keep(key: string, outcome: DrawingOutcome): void {
    kept.set(key, outcome);
    keptCharacters += weightOf(key, outcome);
    for (const [oldest, old] of kept) {
      if (kept.size <= maxCached && keptCharacters <= maxCachedCharacters) return;
      kept.delete(oldest);
      keptCharacters -= weightOf(oldest, old);
    }
  }

  return {
    cached: (job) => kept.get(JSON.stringify(job)),
    draw(job) {
      const key = JSON.stringify(job);
      const again = underWay.get(key);
      if (again !== undefined) return again;
      const { promise, resolve } = Promise.withResolvers<DrawingOutcome>();
      underWay.set(key, promise);
      queue.push({
        id: ++lastId,
        job,
        settle(outcome) {
          underWay.delete(key);
          keep(key, outcome);
          resolve(outcome);
        },
      });
      if (queue.length === 1) next();
      return promise;
    },
  };
}

function weightOf(key: string, outcome: DrawingOutcome): number {
  return key.length + (outcome.kind === "diagram" ? outcome.svg.length : key.length * 60);
}

/** Where drawing happens. */
export interface DrawingFrame {
  readonly post: (asked: DrawingRequest) => void;
  readonly close: () => void;
}

export type OpenDrawingFrame = (onAnswer: (answer: unknown) => void) => DrawingFrame;
