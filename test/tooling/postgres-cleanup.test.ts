import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test, vi } from "vitest";
import { startProcess } from "@holdfast/testing/process/start-process";

const holder = fileURLToPath(new URL("./hold-postgres.ts", import.meta.url));

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test("PostgreSQL and its data are gone after the test run was killed with kill -9", async () => {
  const run = startProcess([holder]);
  const [pid, dataFolder] = (await run.line((line) => line.startsWith("holding ")))
    .split(" ")
    .slice(1);
  expect(isAlive(Number(pid))).toBe(true);
  expect(existsSync(String(dataFolder))).toBe(true);
  await run.kill();
  await vi.waitFor(
    () => {
      expect(isAlive(Number(pid))).toBe(false);
      expect(existsSync(String(dataFolder))).toBe(false);
    },
    { timeout: 40_000, interval: 20 },
  );
});
