import type { NewEvent } from "@holdfast/protocol";

import { LoopDelay } from "../harness/interleave.ts";
import { ours } from "../harness/figures.ts";
import { Samples } from "../harness/samples.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import type { Bench } from "./bench.ts";
import { growLog, openStreams, type Stream } from "./streams.ts";

const deltasPerSecond = 50;
const deltaText = "some words of an answer ";

/** Many streaming answers at once: how much of the event loop is left for everything else? */
export const streamMany: WorkloadDefinition<Bench> = {
  id: "stream",
  title: "many sessions stream at once",
  async measure({ backend, sizes }: Bench) {
    await using database = await backend.createDatabase();
    const store = await database.open();
    await growLog(store);
    const streams = await openStreams(store, sizes.streams);
    const waits = new Samples();
    const loop = new LoopDelay();
    const cpuBefore = process.cpuUsage();
    loop.start();
    const startedAt = performance.now();
    const counts = await Promise.all(
      streams.map((stream, index) =>
        streamFor(stream, { ms: sizes.streamMs, offset: index / streams.length, waits }),
      ),
    );
    const seconds = (performance.now() - startedAt) / 1_000;
    loop.stop();
    const cpu = process.cpuUsage(cpuBefore);
    await store.close();

    const rows = counts.reduce((sum, count) => sum + count, 0);
    const wanted = sizes.streams * deltasPerSecond;
    const p99 = loop.percentile(99);
    const params = { sessions: sizes.streams, deltasPerSecond, ms: sizes.streamMs };
    const line = (what: string, value: number, unit: "/s" | "ms" | "%") => ({
      what,
      params,
      figures: [{ system: ours, value, unit }],
    });
    return {
      lines: [
        {
          ...line("event-loop delay, p99", p99, "ms"),
          bound: { text: "< 10 ms", met: p99 < 10 },
        },
        line("event-loop delay, p50", loop.percentile(50), "ms"),
        {
          ...line("deltas committed a second", rows / seconds, "/s"),
          bound: {
            text: `≥ 0.95 of ${wanted.toLocaleString("en")}/s`,
            met: rows / seconds >= 0.95 * wanted,
          },
        },
        line("from a delta to its commit, p50", waits.p50, "ms"),
        line("from a delta to its commit, p99", waits.p99, "ms"),
        line("of one core, all threads", (cpu.user + cpu.system) / 1e4 / seconds, "%"),
      ],
    };
  },
};

/** Deltas come at their own pace; those that come during a commit join the next one. */
async function streamFor(
  stream: Stream,
  { ms, offset, waits }: { ms: number; offset: number; waits: Samples },
): Promise<number> {
  const every = 1_000 / deltasPerSecond;
  const startedAt = performance.now() + offset * every;
  let waiting: { readonly event: NewEvent; readonly since: number }[] = [];
  let made = 0;
  let busy: Promise<void> | undefined;
  const flush = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      await stream.commit(
        batch.map(({ event }) => event),
        "tick",
      );
      const now = performance.now();
      for (const { since } of batch) waits.add(now - since);
    }
    busy = undefined;
  };
  for (;;) {
    const due = startedAt + made * every;
    const now = performance.now();
    if (now - startedAt >= ms) break;
    if (due > now) await new Promise((resolve) => setTimeout(resolve, due - now));
    waiting.push({ event: stream.delta(deltaText), since: performance.now() });
    made += 1;
    busy ??= flush();
  }
  await busy;
  return made;
}
