import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setEnvironmentData } from "node:worker_threads";

import { runFsck } from "@holdfast/engine";
import { aNotice } from "@holdfast/testing/fixtures/factories";
import { openTestSession, seqsOf } from "@holdfast/testing/fixtures/open-session";
import { expect, onTestFinished, test } from "vitest";

import { openSqliteStore } from "../../src/sqlite/store.ts";

test("a writer thread that dies leaves one write unknown, and another thread takes the next", async () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-dead-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const dies = new Int32Array(new SharedArrayBuffer(4));
  setEnvironmentData("holdfast.die-probe", dies.buffer);
  const probeModule = new URL("./exit-probe.ts", import.meta.url).href;
  const store = await openSqliteStore({ file: join(folder, "store.db"), probeModule });
  const chat = await openTestSession(store);
  await chat.commit([aNotice("before")]);

  Atomics.store(dies, 0, 1);
  const lost = aNotice("lost");
  expect(await chat.send([lost])).toMatchObject({ status: "failed", code: "store_unknown" });
  expect(Atomics.load(dies, 0)).toBe(0);
  await chat.commit([aNotice("after")]);
  // The retry writes it, because the thread died before its commit.
  expect(await chat.send([lost])).toMatchObject({ status: "committed" });

  const { head } = await chat.row();
  expect(seqsOf(await chat.events())).toEqual(Array.from({ length: head }, (_, at) => at + 1));
  const { found, failure } = await runFsck(store.audit, { now: await store.now() });
  expect([...found, failure]).toEqual([undefined]);
  await store.close();
});
