import { parentPort, workerData } from "node:worker_threads";

import { runSimulations, describeFailure } from "./run.ts";
import type { SimChunk, SimReport } from "./worker-pool.ts";

/** Simulates the seeds that it is given, chunk by chunk, and reports each result. */
parentPort?.on("message", (chunk: SimChunk) => void work(chunk));

async function work({ from, seeds }: SimChunk): Promise<void> {
  const { mode } = workerData as { mode: "safety" | "liveness" | undefined };
  const { figures, failed, ...done } = await runSimulations({
    from,
    seeds,
    ...(mode && { profile: { mode } }),
  });
  const report: SimReport = {
    figures: { seeds: done.seeds, ...figures },
    failed: failed && { seed: failed.seed, told: describeFailure(failed) },
  };
  parentPort?.postMessage(report, []);
}
