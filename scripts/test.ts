import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runChecks } from "./check.ts";
import { readTestSummary, formatSummary } from "./test-summary.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "holdfast-test-"));
process.on("exit", () => rmSync(folder, { recursive: true }));

let vitest: ChildProcess | undefined;

/** vitest cleans up its processes first; before it runs there is nothing to wait for. */
async function endOnSignal(signal: NodeJS.Signals): Promise<never> {
  if (vitest?.exitCode === null) {
    vitest.kill(signal);
    await once(vitest, "close");
  }
  process.exit(128 + constants.signals[signal]);
}
process.on("SIGINT", (signal) => void endOnSignal(signal));
process.on("SIGTERM", (signal) => void endOnSignal(signal));

const failedChecks = await runChecks();
const report = join(folder, "report.json");
const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
vitest = spawn("node_modules/.bin/vitest", ["run", ...reporters, ...process.argv.slice(2)], {
  cwd: root,
  stdio: "inherit",
});
await once(vitest, "close");
const tally = readTestSummary(report, {
  exitCode: vitest.exitCode ?? 1,
  failedChecks: failedChecks.length,
});
process.exitCode = tally.failed > 0 ? 1 : 0;
console.log(formatSummary(tally));
