import { spawnSync } from "node:child_process";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { createFolder } from "@holdfast/testing/process/folder";
import { readTestSummary, formatSummary } from "./test-summary.ts";

const modules = fileURLToPath(new URL("../node_modules", import.meta.url));

/** What vitest itself reports for these test files. */
function runVitest(files: Record<string, string>) {
  const folder = createFolder(files);
  symlinkSync(modules, join(folder, "node_modules"));
  const report = join(folder, "report.json");
  const args = ["run", "--root", folder, "--reporter=json", `--outputFile=${report}`];
  const { status } = spawnSync(join(modules, ".bin/vitest"), args, { cwd: folder });
  return { report, exitCode: status ?? 1 };
}

const good = `import { test } from "vitest"; test("a", () => {}); test("b", () => {});`;

test("passing and skipped tests are counted separately", () => {
  const skipping = `${good} test.skip("c", () => {}); test.todo("d");`;
  const { report, exitCode } = runVitest({ "good.test.ts": skipping });
  const tally = readTestSummary(report, { exitCode, failedChecks: 0 });
  expect(formatSummary(tally)).toBe("2 passed, 0 failed, 2 skipped");
});

test("a failing test, a file that doesn't load and a failed check each count once", () => {
  const { report, exitCode } = runVitest({
    "bad.test.ts": `${good} test("c", () => { throw new Error("no"); });`,
    "broken.test.ts": `import "./missing.ts";`,
  });
  expect(formatSummary(readTestSummary(report, { exitCode, failedChecks: 0 }))).toBe(
    "2 passed, 2 failed",
  );
  expect(formatSummary(readTestSummary(report, { exitCode, failedChecks: 2 }))).toBe(
    "2 passed, 4 failed",
  );
});

test("an error outside of any test is a failure although every test passed", () => {
  const { report, exitCode } = runVitest({
    "late.test.ts": `${good} void Promise.reject(new Error("nobody caught this"));`,
  });
  expect(exitCode).toBe(1);
  expect(formatSummary(readTestSummary(report, { exitCode, failedChecks: 0 }))).toBe(
    "2 passed, 1 failed",
  );
});

test("a run without a report counts as failed", () => {
  const tally = readTestSummary("/nowhere/report.json", { exitCode: 1, failedChecks: 0 });
  expect(formatSummary(tally)).toBe("0 passed, 1 failed");
});
