import { type Asked, type Drawn, drawn, type DrawingJob } from "./jobs.ts";

export type Drawing = Exclude<Drawn, { kind: "refused" }>;
export type Outcome = Drawing | { readonly kind: "refused"; readonly message: string };

export interface Drawings {
  /** What was drawn before, at once: what scrolls back into sight does not flicker. */
  readonly known: (job: DrawingJob) => Outcome | undefined;
  readonly draw: (job: DrawingJob) => Promise<Outcome>;
}

interface Waiting {
  readonly id: number;
  readonly job: DrawingJob;
  readonly settle: (outcome: Outcome) => void;
}

/** Longer than any drawing takes that a person would wait for, with a renderer that is yet to be fetched. */
const longestMs = 10_000;
/** Without work for so long, the frame goes and takes its memory along. */
const idleMs = 30_000;
const mostKept = 300;
const mostKeptCharacters = 4_000_000;

/**
 * Formulas and diagrams, drawn one after the other by a frame that can reach neither the page nor the host. One that is not
 * done in time ends the frame; those behind it get another.
 */
export function createDrawings(openFrame: OpenFrame): Drawings {
  const kept = new Map<string, Outcome>();
  const underWay = new Map<string, Promise<Outcome>>();
  const queue: Waiting[] = [];
  let frame: Frame | null = null;
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
    }, longestMs);
    frame ??= openFrame((answer) => {
      const decoded = drawn.safeParse(answer);
      if (decoded.success) settle(decoded.data.id, decoded.data);
    });
    frame.ask({ ...first.job, id: first.id });
  }

  function settle(id: number, outcome: Outcome): void {
    if (queue[0]?.id !== id) return;
    queue.shift()?.settle(outcome);
    next();
  }

  function keep(key: string, outcome: Outcome): void {
    kept.set(key, outcome);
    keptCharacters += weightOf(key, outcome);
    for (const [oldest, old] of kept) {
      if (kept.size <= mostKept && keptCharacters <= mostKeptCharacters) return;
      kept.delete(oldest);
      keptCharacters -= weightOf(oldest, old);
    }
  }

  return {
    known: (job) => kept.get(JSON.stringify(job)),
    draw(job) {
      const key = JSON.stringify(job);
      const again = underWay.get(key);
      if (again !== undefined) return again;
      const { promise, resolve } = Promise.withResolvers<Outcome>();
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

function weightOf(key: string, outcome: Outcome): number {
  return key.length + (outcome.kind === "diagram" ? outcome.svg.length : key.length * 60);
}

/** Where drawing happens. */
export interface Frame {
  readonly ask: (asked: Asked) => void;
  readonly close: () => void;
}

export type OpenFrame = (onAnswer: (answer: unknown) => void) => Frame;
