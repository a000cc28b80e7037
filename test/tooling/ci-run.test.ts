import { chmodSync, cpSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { createFolder } from "@holdfast/testing/process/folder";
import { startProcess } from "@holdfast/testing/process/start-process";

const script = fileURLToPath(new URL("../../.ci/run", import.meta.url));

async function runWithNpmThat(says: string, exitCode: number) {
  const folder = createFolder({ "bin/npm": `#!/bin/sh\n${says}\nexit ${exitCode}\n` });
  chmodSync(join(folder, "bin/npm"), 0o755);
  cpSync(script, join(folder, ".ci/run"));
  const run = startProcess([], {
    command: join(folder, ".ci/run"),
    env: { PATH: `${join(folder, "bin")}:${process.env["PATH"]}` },
  });
  const { code } = await run.exited;
  return { code, last: run.lines.at(-1) };
}

test("the summary is the last line, even when npm prints something after it", async () => {
  const says = `echo "7 passed, 2 failed, 1 skipped"; echo "npm error code 1" >&2`;
  expect(await runWithNpmThat(says, 1)).toEqual({ code: 1, last: "7 passed, 2 failed, 1 skipped" });
});

test("a run that passed ends with its summary and success", async () => {
  expect(await runWithNpmThat(`echo "7 passed, 0 failed"`, 0)).toEqual({
    code: 0,
    last: "7 passed, 0 failed",
  });
});

test("a run that never reached its tests is one failure", async () => {
  expect(await runWithNpmThat(`echo "Cannot install"`, 1)).toEqual({
    code: 1,
    last: "0 passed, 1 failed",
  });
});
