import { openTestSession } from "@holdfast/testing/fixtures/open-session";

import { bare, type Line, ours } from "../harness/figures.ts";
import { LoopDelay } from "../harness/interleave.ts";
import { Samples } from "../harness/samples.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import { type Bench, loopLine } from "./bench.ts";
import { messageEvent } from "./fill.ts";
import { growLog } from "./streams.ts";

/** Writers that only wait for the store, each on its own session: they share syncs. */
export const appendTogether: WorkloadDefinition<Bench> = {
  id: "W1.writers",
  title: "durable append, concurrent writers",
  async measure({ backend, corpus, sizes }: Bench) {
    await using database = await backend.createDatabase();
    const store = await database.open();
    await growLog(store);
    await using driver = await database.openBare();
    const maxWriters = Math.max(...sizes.writers);
    const sessions = await Promise.all(
      Array.from({ length: maxWriters }, () => openTestSession(store)),
    );
    const counts = [1, ...sizes.writers];
    const mine = new Map(counts.map((writers) => [writers, new Stretch()]));
    const limit = new Map(counts.map((writers) => [writers, new Stretch()]));
    const loop = new LoopDelay();

    for (let round = 0; round <= sizes.stretches; round += 1) {
      for (const writers of counts) {
        const keep = round > 0;
        if (keep) loop.start();
        const ran = await stretch(sizes.stretchMs, sessions.slice(0, writers), (session, turn) =>
          session.commit([messageEvent(corpus, turn)]),
        );
        loop.stop();
        if (keep) mine.get(writers)?.add(ran);
        const texts = Array.from({ length: writers }, (_, index) =>
          JSON.stringify(messageEvent(corpus, index).data),
        );
        // The driver's limit: as many rows in one transaction as there are writers.
        const alone = await stretch(sizes.stretchMs / 2, [driver], (one) => one.insertGroup(texts));
        if (keep) limit.get(writers)?.add({ ...alone, count: alone.count * writers });
      }
    }
    await store.close();

    const one = mine.get(1)?.rate ?? Number.NaN;
    const lines = counts.map((writers): Line => {
      const { rate = Number.NaN, samples = new Samples() } = mine.get(writers) ?? {};
      const ratio = rate / one;
      return {
        what: `${writers} ${writers === 1 ? "writer" : "writers"}, appends a second`,
        params: { writers, p50: samples.p50, p99: samples.p99 },
        figures: [
          {
            system: ours,
            value: rate,
            unit: "/s",
            more: { p50: samples.p50, p99: samples.p99, timesOne: ratio },
          },
          { system: bare, value: limit.get(writers)?.rate ?? Number.NaN, unit: "/s" },
        ],
        ...(writers === 8 && {
          bound: { text: `≥ 3× one writer (${ratio.toFixed(1)}×)`, met: ratio >= 3 },
        }),
      };
    });
    return { lines: [...lines, loopLine(loop)] };
  },
};

interface Ran {
  readonly count: number;
  readonly ms: number;
  readonly times: readonly number[];
}

/** What was done in several periods of time. */
class Stretch {
  readonly samples = new Samples();
  #count = 0;
  #ms = 0;

  add({ count, ms, times }: Ran): void {
    this.#count += count;
    this.#ms += ms;
    this.samples.addAll(times);
  }

  get rate(): number {
    return (this.#count / this.#ms) * 1_000;
  }
}

/** Each worker goes on until the time is up. */
export async function stretch<T>(
  ms: number,
  workers: readonly T[],
  work: (worker: T, turn: number) => unknown,
): Promise<Ran> {
  const startedAt = performance.now();
  const times: number[] = [];
  let turn = 0;
  await Promise.all(
    workers.map(async (worker) => {
      for (;;) {
        const begunAt = performance.now();
        if (begunAt - startedAt >= ms) return;
        await work(worker, (turn += 1));
        times.push(performance.now() - begunAt);
      }
    }),
  );
  return { count: times.length, ms: performance.now() - startedAt, times };
}
