import { existsSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { executeCommand, describeProcess } from "@holdfast/client";
import { requirePage } from "./page/require-page.ts";
import { serveWithClient, valueOf } from "./served-host.ts";
import {
  killBesideAProcess,
  startBackgroundProcess,
  reportsIn,
  settings,
  reportedOnce,
} from "./background-processes-scenario.ts";

beforeEach(requirePage);

/** Before it is ready, a request to stop ends it while its sandbox is still being set up. */
const stoppable = "trap 'echo > stopped; exit 0' TERM; echo > ready; while :; do sleep 0.05; done";

async function untilExists(file: string): Promise<void> {
  while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 20));
}

test("[P11] a process outlives its turn and a kill -9 of its host; the next host reports its end once, which starts a turn", async () => {
  expect(await killBesideAProcess()).toEqual(reportedOnce);
});

test("a person can stop a process, and trashing a session ends its processes", async () => {
  const { client, home } = await serveWithClient(settings);
  const one = await startBackgroundProcess(client, stoppable);
  await untilExists(join(home, "workspaces", one, "ready"));
  const [process] = valueOf(await client.listProcesses({ params: { id: one } })).processes;
  const place = { client, sessionId: one, key: "typed-1", now: Date.now };
  const argument = process!.id.slice(-6);
  expect(describeProcess(process!)).toContain(`: running. To stop it: /processes ${argument}`);
  expect(await executeCommand(place, { name: "processes", argument })).toMatchObject({
    kind: "processes",
    processes: [{ id: process!.id, end: "was stopped" }],
  });
  expect(existsSync(join(home, "workspaces", one, "stopped"))).toBe(true);
  expect(await reportsIn(client, one)).toEqual([]);

  const two = await startBackgroundProcess(client, stoppable);
  await untilExists(join(home, "workspaces", two, "ready"));
  await client.trashSession({ params: { id: two } });
  await untilExists(join(home, "workspaces", two, "stopped"));
});
