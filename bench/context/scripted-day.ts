import { runScriptedDay } from "@holdfast/testing/rigs/scripted-day";

import { ours } from "../harness/figures.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import type { Bench } from "./bench.ts";

/** P9 in figures: a day with switches, evictions, restarts, steering, undo and compactions. */
export const liveDay: WorkloadDefinition<Bench> = {
  id: "day",
  title: "requests that begin with the whole of the one before",
  async measure({ backend, sizes: { dayTurns: turns } }: Bench) {
    await using database = await backend.createDatabase();
    const store = await database.open();
    const startedAt = performance.now();
    const { requests, stable, explained } = await runScriptedDay(store, { turns, seed: 7 });
    const seconds = (performance.now() - startedAt) / 1_000;
    await store.close();
    const share = (count: number) => (count / requests) * 100;
    const figure = (what: string, value: number) => ({
      what,
      params: { turns },
      figures: [{ system: ours, value, unit: "%" as const }],
    });
    const kept = share(stable + explained);
    return {
      lines: [
        figure("stable", share(stable)),
        figure("changed, and the log says by which event", share(explained)),
        {
          ...figure("stable or explained", kept),
          bound: { text: "100 %", met: stable + explained === requests },
        },
        {
          what: "turns a second",
          params: { turns },
          figures: [{ system: ours, value: turns / seconds, unit: "/s" as const }],
        },
      ],
      notes: [
        `${turns} turns, ${requests} requests. A change that no event explains fails the run.`,
      ],
    };
  },
};
