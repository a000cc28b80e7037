import type { FailureCode, Store, StoreFailure } from "@holdfast/engine";
import { aNotice } from "@holdfast/testing/fixtures/factories";
import { manualClock } from "@holdfast/testing/fakes/manual-clock";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, onTestFinished, test } from "vitest";

import { createHealthCheck } from "./health.ts";
import { createWriteHealth } from "./store-health.ts";

/** A store whose disk can be made to fail, and a host that monitors it. */
function openMonitored() {
  const memory = createReferenceStore();
  onTestFinished(() => memory.close());
  const disk: { refuses: FailureCode | null; writes: number } = { refuses: null, writes: 0 };
  function unlessRefused<T>(write: () => Promise<T>) {
    disk.writes += 1;
    if (disk.refuses === null) return write();
    const failure = { status: "failed", code: disk.refuses, message: "/srv/x" } as const;
    writes.noteFailure(failure);
    return Promise.resolve(failure);
  }
  const store: Store = {
    ...memory,
    commit: (commit) => unlessRefused(() => memory.commit(commit)),
    register: {
      ...memory.register,
      put: (change) => unlessRefused(() => memory.register.put(change)),
    },
  };
  const clock = manualClock();
  const failures: StoreFailure[] = [];
  const writes = createWriteHealth(store, {
    clock,
    onFailure: (failure) => failures.push(failure),
  });
  const stopping = new AbortController();
  const health = createHealthCheck({
    store,
    writes,
    clock,
    stopping: stopping.signal,
    roles: ["web"],
  });
  return { disk, clock, failures, health, store };
}

test.each(["store_full", "store_unwritable", "store_unknown"] as const)(
  "while writes fail with %s the host is not ready and says what to do, until one succeeds",
  async (code) => {
    const { disk, clock, failures, health, store } = openMonitored();
    const session = await openTestSession(store);
    expect(await health()).toMatchObject({ status: "ok", ready: true, reasons: [] });

    disk.refuses = code;
    for (const _ of [1, 2, 3])
      expect(await session.send([aNotice()])).toMatchObject({ status: "failed", code });
    expect(failures.map((failure) => failure.code)).toEqual([code]);
    await clock.advance(1_001);
    const failing = await health();
    expect(failing).toMatchObject({ status: "degraded", ready: false, store: { code } });
    expect(failing.reasons).toHaveLength(1);
    // The store's own message may name files: it is for the log.
    expect(failing.reasons.join()).not.toContain("/srv/x");

    disk.refuses = null;
    await clock.advance(1_001);
    expect(await health()).toMatchObject({ status: "ok", ready: true, reasons: [] });
  },
);

test("a healthy store is not probed with writes, and a failing one is once a second", async () => {
  const { disk, clock, health, store } = openMonitored();
  const session = await openTestSession(store);
  const before = disk.writes;
  for (let count = 0; count < 5; count += 1) {
    await health();
    await clock.advance(1_001);
  }
  expect(disk.writes).toBe(before);

  disk.refuses = "store_full";
  await session.send([aNotice()]);
  const failed = disk.writes;
  await clock.advance(1_001);
  await Promise.all(Array.from({ length: 50 }, () => health()));
  expect(disk.writes).toBe(failed + 1);
});

test("a successful write between failing ones does not make the host ready", async () => {
  const { disk, clock, health, store } = openMonitored();
  const session = await openTestSession(store);
  disk.refuses = "store_full";
  await session.send([aNotice()]);
  disk.refuses = null;
  await session.commit([aNotice()]);
  disk.refuses = "store_full";
  await clock.advance(1_001);
  expect(await health()).toMatchObject({ ready: false });
});

test("a store closed during shutdown is not reported", async () => {
  const { disk, failures, store } = openMonitored();
  const session = await openTestSession(store);
  disk.refuses = "store_closed";
  await session.send([aNotice()]);
  expect(failures).toEqual([]);
});

test("a try that another host was faster at does not count as a write that worked", async () => {
  const store = createReferenceStore();
  onTestFinished(() => store.close());
  const register: Store["register"] = {
    ...store.register,
    async read(owner, key) {
      const row = await store.register.read(owner, key);
      await store.register.put({ owner, key, value: '"theirs"', expect: row?.revision ?? 0 });
      return row;
    },
  };
  const writes = createWriteHealth({ register }, { clock: manualClock(), onFailure: () => {} });
  const failure = { status: "failed", code: "store_full", message: "/srv/x" } as const;
  writes.noteFailure(failure);
  expect(await writes.failure()).toEqual(failure);
});
