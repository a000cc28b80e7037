import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { availableParallelism, cpus, loadavg } from "node:os";
import { join } from "node:path";

import { Samples } from "./samples.ts";
import { dropScratch, makeScratch } from "./scratch.ts";

export interface Machine {
  readonly node: string;
  readonly sqlite: string;
  readonly platform: string;
  readonly processor: string;
  readonly cores: number;
  /** The load average of the last minute when the run began: above 0.5 the figures mean little. */
  readonly load: number;
  /** Appending 512 bytes to a file and syncing it, in milliseconds. */
  readonly sync: { readonly p50: number; readonly p99: number };
}

export function describeMachine(): Machine {
  return {
    node: process.version,
    sqlite: process.versions["sqlite"] ?? "unknown",
    platform: `${process.platform}-${process.arch}`,
    processor: cpus()[0]?.model ?? "unknown",
    cores: availableParallelism(),
    load: loadavg()[0] ?? 0,
    sync: measureSync(),
  };
}

const syncMs = 300;

function measureSync(): Machine["sync"] {
  const folder = makeScratch("sync");
  const file = openSync(join(folder, "bytes"), "w");
  const bytes = Buffer.alloc(512, "x");
  const samples = new Samples();
  for (const until = performance.now() + syncMs; performance.now() < until;) {
    const startedAt = performance.now();
    writeSync(file, bytes);
    fdatasyncSync(file);
    samples.add(performance.now() - startedAt);
  }
  closeSync(file);
  dropScratch(folder);
  return { p50: samples.p50, p99: samples.p99 };
}
