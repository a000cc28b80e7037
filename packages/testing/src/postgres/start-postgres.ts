import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";

const supervisor = fileURLToPath(new URL("./postgres-process.ts", import.meta.url));

/** One server for the run: the one that HOLDFAST_TEST_POSTGRES names, or our own. */
export default async function providePostgres(project: TestProject) {
  const given = process.env["HOLDFAST_TEST_POSTGRES"];
  if (given) {
    project.provide("postgresUrl", given);
    return;
  }
  const server = await startPostgres();
  project.provide("postgresUrl", server.url);
  return server.stop;
}

export async function startPostgres() {
  const child = spawn(process.execPath, [supervisor], {
    stdio: ["pipe", "pipe", "inherit"],
    detached: true,
  });
  const closed = once(child, "close");
  const output = createInterface(child.stdout);
  const firstLine = once(output, "line").then(([line]) => String(line));
  const url = await Promise.race([firstLine, closed.then(() => undefined)]);
  if (url === undefined) throw new Error("PostgreSQL did not start; see the reason above.");
  return {
    url,
    /** Restarts the server with PostgreSQL's shutdown mode, and resolves when it is up again. */
    async restart(mode: "fast" | "immediate"): Promise<void> {
      const restarted = once(output, "line");
      child.stdin.write(`${mode}\n`);
      await Promise.race([restarted, closed]);
    },
    stop: async (): Promise<void> => {
      child.stdin.end();
      await closed;
    },
  };
}
