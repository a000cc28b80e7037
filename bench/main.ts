import { writeFileSync } from "node:fs";

import {
  type BenchOptions,
  describeMachine,
  dropScratchAtExit,
  formatValue,
  readOptions,
  Report,
  usage,
} from "./harness/index.ts";

type Subject = (options: BenchOptions, report: Report) => Promise<void>;

/** Each is loaded when it is asked for. */
const subjects = new Map<string, () => Promise<Subject>>([
  ["store", async () => (await import("./store/index.ts")).benchStore],
  ["runs", async () => (await import("./runs/index.ts")).benchRuns],
  ["context", async () => (await import("./context/index.ts")).benchContext],
  ["host", async () => (await import("./host/index.ts")).benchHost],
  ["gateway", async () => (await import("./gateway/index.ts")).benchGateway],
  ["page", async () => (await import("./page/index.ts")).benchPage],
]);

async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args);
  const load = options && subjects.get(options.subject);
  if (options === undefined || load === undefined) {
    console.error(usage);
    return 2;
  }
  dropScratchAtExit();
  const startedAt = new Date().toISOString();
  const machine = describeMachine();
  console.log(
    `${machine.processor}, ${machine.cores} cores, load ${machine.load.toFixed(1)}; Node ${machine.node}, ` +
      `SQLite ${machine.sqlite}; a synced write takes ${formatValue(machine.sync.p50, "ms")} (p99 ${formatValue(machine.sync.p99, "ms")}).`,
  );
  const report = new Report();
  const measure = await load();
  await measure(options, report);
  console.log(`\n${report.summary()}`);
  if (options.json !== undefined) {
    const { subject: name, quick, corpus = null } = options;
    const whole = { subject: name, startedAt, quick, corpus, machine, figures: report.figures() };
    writeFileSync(options.json, `${JSON.stringify(whole, null, 2)}\n`);
  }
  return 0;
}

process.exitCode = await main(process.argv.slice(2));
