// A process that does next to nothing while others work: what it has to wait for, everybody does.
import { open } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

import { Samples } from "../harness/samples.ts";
import { takeTask } from "../harness/task.ts";
import { ProcessMeter, type Summary, summaryOf } from "./meters.ts";

export interface IdleTask {
  /** On the measured disk. */
  readonly file: string;
  readonly delayMs: number;
  readonly ms: number;
}

/** How late its event loop was, and how long a synced write of 512 bytes took, in milliseconds. */
export interface Idled {
  readonly loop: Summary;
  readonly sync: Summary;
}

const writeEveryMs = 20;

const task = takeTask<IdleTask>();
const file = await open(task.file, "w");
const bytes = Buffer.alloc(512, "x");
const sync = new Samples();
const meter = new ProcessMeter();
await sleep(task.delayMs);
meter.start();
for (const until = performance.now() + task.ms; performance.now() < until;) {
  const startedAt = performance.now();
  await file.write(bytes);
  await file.datasync();
  sync.add(performance.now() - startedAt);
  await sleep(writeEveryMs);
}
const idled: Idled = { loop: meter.stop().loop, sync: summaryOf(sync) };
await file.close();
process.send?.(idled);
