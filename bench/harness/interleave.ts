import { createHistogram, monitorEventLoopDelay } from "node:perf_hooks";

import { Samples } from "./samples.ts";

/** One of several that do comparable work. */
export interface Contender {
  readonly name: string;
  /** The measured operation; `turn` counts up from 0 over all rounds. */
  readonly run: (turn: number) => unknown;
  /** Operations in a row in each round. */
  readonly perRound: number;
  /**
   * Measures the event loop's delay, in separate rounds: sampling each millisecond slows down what it measures. Off
   * for drivers that block by nature.
   */
  readonly watchLoop?: true;
}

export interface MeasurePace {
  readonly rounds: number;
  /** No round starts after this long; at least three are made. */
  readonly budgetMs: number;
  /** Rounds that are discarded: compilers and caches settle in them. */
  readonly warmUp?: number;
}

export interface Interleaved {
  of(name: string): Samples;
  /** The event loop's delay while watched contenders ran. */
  readonly loop: LoopDelay;
}

/** One in this many rounds is for the event loop. */
const watchedRounds = 4;

/**
 * A, B, A, B: whatever else the machine does affects all contenders alike. The first rounds warm up and are
 * discarded; every other round goes backwards, so that nobody is always first.
 */
export async function interleave(
  contenders: readonly Contender[],
  { rounds, budgetMs, warmUp = 3 }: MeasurePace,
): Promise<Interleaved> {
  const samples = new Map(contenders.map(({ name }) => [name, new Samples()]));
  const turns = new Map<string, number>();
  const loop = new LoopDelay();
  const deadline = performance.now() + budgetMs;
  for (let round = -warmUp; round < rounds; round += 1) {
    if (round >= 3 && performance.now() > deadline) break;
    for (const contender of round % 2 === 0 ? contenders : contenders.toReversed()) {
      const { name, run, perRound } = contender;
      const first = turns.get(name) ?? 0;
      turns.set(name, first + perRound);
      const watched = contender.watchLoop && round >= 0 && round % watchedRounds === 0;
      if (watched) loop.start();
      for (let turn = first; turn < first + perRound; turn += 1) {
        const startedAt = performance.now();
        await run(turn);
        if (round >= 0 && !watched) samples.get(name)?.add(performance.now() - startedAt);
      }
      loop.stop();
    }
  }
  return { of: (name) => samples.get(name) ?? new Samples(), loop };
}

/**
 * Contenders that are compared take turns, and heavy ones run alone afterwards: the disk is busy with their writes
 * long after they have returned, and the next contender would wait for it.
 */
export async function interleaveApart(
  compared: readonly Contender[],
  heavy: readonly Contender[],
  pace: MeasurePace,
): Promise<Interleaved> {
  const first = await interleave(compared, pace);
  const second = await interleave(heavy, {
    rounds: 10,
    budgetMs: pace.budgetMs / 2,
    warmUp: 1,
  });
  const names = new Set(heavy.map(({ name }) => name));
  return { of: (name) => (names.has(name) ? second : first).of(name), loop: first.loop };
}

/** The event loop's delay in milliseconds, sampled each millisecond while started. */
export class LoopDelay {
  readonly #all = createHistogram();
  #running: ReturnType<typeof monitorEventLoopDelay> | undefined;

  /** With a new monitor each time: one that continues after a stop counts the pause as a delay. */
  start(): void {
    this.stop();
    this.#running = monitorEventLoopDelay({ resolution: 1 });
    this.#running.enable();
  }

  stop(): void {
    if (this.#running === undefined) return;
    this.#running.disable();
    const { count, percentiles } = this.#running;
    let counted = 0;
    for (const [percent, delay] of percentiles) {
      const upToHere = Math.round((percent / 100) * count);
      for (; counted < upToHere; counted += 1) this.#all.record(Math.max(1, Math.round(delay)));
    }
    this.#running = undefined;
  }

  get count(): number {
    return this.#all.count;
  }

  percentile(percent: number): number {
    return this.#all.count === 0 ? Number.NaN : this.#all.percentile(percent) / 1e6;
  }
}
