import { join } from "node:path";

import { type Line, lineOf } from "../harness/figures.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import { growLog } from "../store/streams.ts";
import type { Bench } from "./bench.ts";
import { startEngine } from "./engine-client.ts";
import { idleFigure, idleNote, startIdle } from "./idle-client.ts";
import type { Idled } from "./idle-process.ts";
import type { Streamed } from "./tasks.ts";

/** The required limits for this many live runs, in milliseconds. */
const required: Readonly<
  Record<number, { p50: number; p99: number; loop?: number; admission?: number }>
> = {
  200: { p50: 40, p99: 80, admission: 20 },
  1_000: { p50: 80, p99: 120, loop: 10 },
};

/** Live runs of 50 deltas a second each, all of them watched, while people keep writing. */
export const streamLiveRuns: WorkloadDefinition<Bench> = {
  id: "W3",
  title: "live runs",
  async measure({ backend, sizes }: Bench) {
    const lines: Line[] = [];
    for (const runs of sizes.liveRuns) {
      await using database = await backend.createDatabase();
      const store = await database.open();
      await growLog(store);
      const task = { runs, warmMs: sizes.warmMs, ms: sizes.streamMs };
      await using engine = startEngine("stream", database.address, task);
      await using idle = startIdle({
        file: join(database.folder, "idle"),
        delayMs: sizes.warmMs,
        ms: sizes.streamMs,
      });
      lines.push(...withFloors(linesFor(runs, await engine.answer), await idle.answer));
      await engine.kill();
      await store.close();
    }
    return { lines, notes: [idleNote] };
  },
};

/** Puts the figures of the idle process beside ours. */
function withFloors(lines: readonly Line[], { loop, sync }: Idled): Line[] {
  const floors: readonly [what: string, value: number][] = [
    ["event-loop delay, p99", loop.p99],
    ["journal commit, p50", sync.p50],
    ["journal commit, p99", sync.p99],
  ];
  return lines.map((line) => {
    const floor = floors.find(([what]) => line.what.endsWith(what));
    if (floor === undefined) return line;
    return { ...line, figures: [...line.figures, idleFigure(floor[1])] };
  });
}

function linesFor(runs: number, streamed: Streamed): Line[] {
  const { delivery, commit, admission, loop, cpuPercent } = streamed;
  const { deltasPerSecond: rate, wantedPerSecond: wanted } = streamed;
  const named = (what: string) => `${runs.toLocaleString("en")} live: ${what}`;
  const params = { runs };
  const { p50, p99, loop: loopLimit, admission: admissionLimit } = required[runs] ?? {};
  const below = (limit: number | undefined) => ({
    params,
    ...(limit !== undefined && { below: limit }),
  });
  return [
    lineOf(named("from the model's delta to the watcher, p50"), delivery.p50, "ms", below(p50)),
    lineOf(named("from the model's delta to the watcher, p99"), delivery.p99, "ms", below(p99)),
    lineOf(named("event-loop delay, p99"), loop.p99, "ms", below(loopLimit)),
    lineOf(named("admission meanwhile, p50"), admission.p50, "ms", { params }),
    lineOf(named("admission meanwhile, p99"), admission.p99, "ms", below(admissionLimit)),
    lineOf(named("journal commit, p50"), commit.p50, "ms", { params }),
    lineOf(named("journal commit, p99"), commit.p99, "ms", { params }),
    lineOf(named("journal commits a second"), streamed.commitsPerSecond, "/s", { params }),
    lineOf(named("deltas seen a second"), rate, "/s", {
      params,
      bound: {
        text: `≥ 0.95 of ${Math.round(wanted).toLocaleString("en")}/s`,
        met: rate >= 0.95 * wanted,
      },
    }),
    lineOf(named("of one core, all threads"), cpuPercent, "%", { params }),
  ];
}
