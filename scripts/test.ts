import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runChecks } from "./check.ts";
import { readTally, summarise } from "./tally.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

// Ctrl-C reaches vitest as well: it puts its processes away, and this waits for it.
let interruptedBy: NodeJS.Signals | undefined;
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    interruptedBy = signal;
    vitest?.kill(signal);
  });
}
let vitest: ReturnType<typeof spawn> | undefined;

async function runVitest(report: string): Promise<number> {
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const args = ["run", ...reporters, ...process.argv.slice(2)];
  vitest = spawn("node_modules/.bin/vitest", args, { cwd: root, stdio: "inherit" });
  await once(vitest, "close");
  return vitest.exitCode ?? 1;
}

const folder = mkdtempSync(join(tmpdir(), "holdfast-test-"));
const report = join(folder, "report.json");
try {
  const failedChecks = await runChecks();
  const exitCode = interruptedBy ? 1 : await runVitest(report);
  const tally = readTally(report, { exitCode, failedChecks: failedChecks.length });
  process.exitCode = tally.failed > 0 ? 1 : 0;
  console.log(summarise(tally));
} finally {
  rmSync(folder, { recursive: true });
}
if (interruptedBy) process.exit(128 + constants.signals[interruptedBy]);
