import { Worker } from "node:worker_threads";

import type { SimFigure } from "@holdfast/testing/simulator/simulate";

export interface SimChunk {
  readonly from: number;
  readonly seeds: number;
}

type Figures = Readonly<Record<"seeds" | SimFigure, number>>;

export interface SimReport {
  readonly figures: Figures;
  readonly failed: { readonly seed: number; readonly told: string } | null;
}

export interface SimJob {
  readonly from: number;
  /** Infinite: until a seed fails. */
  readonly seeds: number;
  readonly workers: number;
  readonly mode: "safety" | "liveness" | undefined;
  readonly onProgress: (figures: Figures) => void;
}

const chunkSize = 250;

/** Shares seeds between threads. After a failure the current chunks are finished, and no more are started. */
export async function simulateInWorkers(job: SimJob): Promise<SimReport> {
  let next = job.from;
  const end = job.from + job.seeds;
  let total: Figures = {
    seeds: 0,
    steps: 0,
    commits: 0,
    runs: 0,
    acknowledged: 0,
    effects: 0,
    shown: 0,
    spilled: 0,
  };
  let failed: SimReport["failed"] = null;
  const takeChunk = (): SimChunk | null => {
    if (failed !== null || next >= end) return null;
    const from = next;
    next = Math.min(end, from + chunkSize);
    return { from, seeds: next - from };
  };
  const take = (report: SimReport): void => {
    total = sum(total, report.figures);
    if (report.failed !== null && report.failed.seed < (failed?.seed ?? Infinity))
      failed = report.failed;
    job.onProgress(total);
  };
  await Promise.all(Array.from({ length: job.workers }, () => runWorker(job, takeChunk, take)));
  return { figures: total, failed };
}

function runWorker(
  { mode }: SimJob,
  takeChunk: () => SimChunk | null,
  take: (report: SimReport) => void,
): Promise<void> {
  const worker = new Worker(new URL("./worker.ts", import.meta.url), { workerData: { mode } });
  return new Promise((resolve, reject) => {
    const continueWorker = (): void => {
      const chunk = takeChunk();
      if (chunk !== null) worker.postMessage(chunk, []);
      else void worker.terminate().then(() => resolve());
    };
    worker.on("message", (report: SimReport) => {
      take(report);
      continueWorker();
    });
    worker.on("error", reject);
    continueWorker();
  });
}

function sum(a: Figures, b: Figures): Figures {
  const names = Object.keys(a) as (keyof Figures)[];
  return Object.fromEntries(names.map((name) => [name, a[name] + b[name]])) as Figures;
}
