import { readFileSync } from "node:fs";

export interface TestSummary {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/**
 * Counts what vitest reported. A failure outside of a test (a check, a file that didn't load, an uncaught error)
 * counts too: the last line must never disagree with the exit code.
 */
export function readTestSummary(
  report: string,
  outcome: { readonly exitCode: number; readonly failedChecks: number },
): TestSummary {
  const content = readReport(report);
  const testsFailed = count(content, "numFailedTests") + countFilesThatDidNotLoad(content);
  const silentFailure = outcome.exitCode !== 0 && testsFailed === 0 ? 1 : 0;
  return {
    passed: count(content, "numPassedTests"),
    failed: testsFailed + silentFailure + outcome.failedChecks,
    skipped: count(content, "numPendingTests") + count(content, "numTodoTests"),
  };
}

export function formatSummary({ passed, failed, skipped }: TestSummary): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

function readReport(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    // vitest ended before it could report; its exit code decides.
    return {};
  }
}

function get(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

function count(content: unknown, name: string): number {
  const value = get(content, name);
  return typeof value === "number" ? value : 0;
}

function countFilesThatDidNotLoad(content: unknown): number {
  const files: unknown = get(content, "testResults");
  if (!Array.isArray(files)) return 0;
  return files.filter((file: unknown) => {
    const tests = get(file, "assertionResults");
    return get(file, "status") === "failed" && Array.isArray(tests) && tests.length === 0;
  }).length;
}
