import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@holdfast/client";
import { expect, onTestFinished, test } from "vitest";
import { serveHere } from "../test/support/command-rig.ts";

/** Counts the threads that are made from now on. */
function countThreads(): () => number {
  let made = 0;
  const count = (): void => void (made += 1);
  subscribe("worker_threads", count);
  onTestFinished(() => void unsubscribe("worker_threads", count));
  return () => made;
}

test("a host at rest has one storage thread: its looks for work, its health and its list need no other", async () => {
  const home = mkdtempSync(join(tmpdir(), "holdfast-rest-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const threads = countThreads();
  const { settings, close } = await serveHere(home);
  const { HOLDFAST_URL: baseUrl, HOLDFAST_TOKEN: token } = settings;
  const client = createClient({ baseUrl, token });
  const asked = await Promise.all([
    client.health({}),
    client.listSessions({ query: {} }),
    client.listApprovals({ query: {} }),
  ]);
  expect(asked.map(({ ok }) => ok)).toEqual([true, true, true]);
  // Whoever looks for work began with a look, and is waited for.
  await close();
  expect(threads()).toBe(1);
});
