import { writeFileSync } from "node:fs";

import { type BenchOptions, readOptions, usage } from "./harness/options.ts";
import { describeMachine } from "./harness/machine.ts";
import { dropScratchAtExit } from "./harness/scratch.ts";
import { formatValue } from "./harness/table.ts";
import { Report } from "./harness/report.ts";

type Subject = (options: BenchOptions, report: Report) => Promise<void>;

/** Each is loaded on demand. */
const subjects = new Map<string, () => Promise<Subject>>([
  ["store", async () => (await import("./store/run.ts")).benchStore],
  ["runs", async () => (await import("./runs/run.ts")).benchRuns],
  ["context", async () => (await import("./context/run.ts")).benchContext],
  ["host", async () => (await import("./host/run.ts")).benchHost],
  ["gateway", async () => (await import("./gateway/run.ts")).benchGateway],
  ["editors", async () => (await import("./editors/run.ts")).benchEditors],
  ["openai", async () => (await import("./openai/run.ts")).benchOpenAi],
  ["sandbox", async () => (await import("./sandbox/run.ts")).benchSandbox],
  ["snapshots", async () => (await import("./snapshots/run.ts")).benchSnapshots],
  ["import", async () => (await import("./import/run.ts")).benchImport],
  ["nodes", async () => (await import("./nodes/run.ts")).benchNodes],
  ["page", async () => (await import("./page/run.ts")).benchPage],
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
