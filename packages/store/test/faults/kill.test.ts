import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { serialize } from "node:v8";
import { afterAll, expect, test } from "vitest";

import {
  connectWithoutSync,
  makeTemplate,
  runFrom,
  recordCourse,
  dumpDatabase,
  groupTime,
} from "./database-dump.ts";
import { representativeProgram } from "./write-program.ts";
import { fsckFile } from "./fsck-file.ts";

const folder = mkdtempSync(join(tmpdir(), "holdfast-kill-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs the process that kills itself, and returns what it printed until then. */
async function runUntilKilled(): Promise<readonly string[]> {
  const script = fileURLToPath(new URL("./kill-at-every-statement.ts", import.meta.url));
  const child = spawn(process.execPath, [script, folder], { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  await once(child, "close");
  expect(child.signalCode).toBe("SIGKILL");
  return output.trim().split("\n");
}

test("[P1] kill -9 before any statement keeps what was acknowledged and nothing else, and a retry completes it once", async () => {
  const program = representativeProgram();
  const template = join(folder, "template.db");
  await makeTemplate(template);
  writeFileSync(join(folder, "program"), serialize(program));
  const { dumps } = await recordCourse(template, join(folder, "whole.db"), program);

  const output = (await runUntilKilled()).map((line) => line.split(" "));
  const statements = Number(output.at(-1)?.[1]);
  expect(output.at(-1)?.[0]).toBe("held");
  expect(statements).toBeGreaterThan(100);

  for (let nth = 1; nth <= statements; nth += 1) {
    const acknowledged = output.filter(([word, at]) => word === "acknowledged" && at === `${nth}`);
    const groups = acknowledged.length;
    const connection = connectWithoutSync(join(folder, `${nth}.db`));
    try {
      const found = dumpDatabase(connection);
      expect([groups, groups + 1], `held at statement ${nth}`).toContain(dumps.indexOf(found));
      expect(await fsckFile(connection, groupTime(groups))).toEqual([]);
      await runFrom(connection, program, groups);
      expect(dumpDatabase(connection)).toBe(dumps.at(-1));
    } finally {
      connection.close();
    }
  }
}, 120_000);
