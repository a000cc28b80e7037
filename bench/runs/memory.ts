import { lineOf } from "../harness/figures.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import type { Bench } from "./bench.ts";
import { startEngine } from "./engine-client.ts";

const limit = 50 * 1024;

export const weighSessions: WorkloadDefinition<Bench> = {
  id: "memory",
  title: "heap after collection",
  async measure({ backend, sizes }: Bench) {
    await using database = await backend.createDatabase();
    const task = { idle: sizes.idleSessions, runs: sizes.heldRuns, ms: sizes.streamMs };
    await using engine = startEngine("memory", database.address, task);
    const { perIdle, perRun } = await engine.answer;
    const seconds = sizes.streamMs / 1_000;
    return {
      lines: [
        lineOf("a session that is watched and rests", perIdle, "bytes", {
          params: { sessions: task.idle },
        }),
        lineOf(`a live run, ${seconds} s into its answer`, perRun, "bytes", {
          params: { runs: task.runs, seconds },
          below: limit,
        }),
      ],
      notes: [
        "The heap of the main thread; the store's threads keep a bounded cache of their own.",
      ],
    };
  },
};
