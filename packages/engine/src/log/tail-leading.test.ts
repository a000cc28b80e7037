import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { afterEach, beforeEach, expect, test } from "vitest";

import { aDelta, aNotice, aRunId } from "@holdfast/testing/fixtures/factories";
import { nextSeqs, openTailRig } from "@holdfast/testing/rigs/tail-rig";
import { type StoreHarness } from "@holdfast/testing/conformance/harness";
import { nextTurn } from "@holdfast/testing/fakes/manual-clock";

let harness: StoreHarness;
beforeEach(async () => {
  harness = await referenceHarness.open();
});
afterEach(() => harness.close());

/** A session that this process writes to and follows, after the first read. */
async function setUp() {
  const rig = await openTailRig(harness);
  const tail = rig.follow(1);
  const first = nextSeqs(tail);
  await nextTurn();
  await rig.here("two");
  expect(await first).toEqual([2]);
  // The store reported this commit before we had written anything, so it is read once.
  const second = nextSeqs(tail);
  await nextTurn();
  await rig.here("three");
  expect(await second).toEqual([3]);
  return { ...rig, tail };
}

test("while this process writes, its readers do not query the store", async () => {
  const { here, tail, store, clock } = await setUp();
  const before = store.gate.reads;
  for (let number = 4; number < 104; number += 1) {
    const next = nextSeqs(tail);
    await clock.advance(40);
    await here(`number ${number}`);
    expect(await next).toEqual([number]);
  }
  expect(store.gate.reads).toBe(before);
});

test("a gap before the next seq reveals what another process wrote meanwhile", async () => {
  const { here, tail, elsewhere, clock } = await setUp();
  const next = nextSeqs(tail);
  await clock.advance(40);
  await elsewhere.commit([aNotice()]);
  await here("five");
  const seen = await next;
  expect(seen.at(-1) === 5 ? seen : [...seen, ...(await nextSeqs(tail))]).toEqual([4, 5]);
});

test("what another process wrote after our last seq is found once we stop writing", async () => {
  const { tail, elsewhere, clock } = await setUp();
  const next = nextSeqs(tail);
  await elsewhere.commit([aNotice()]);
  for (let elapsedMs = 0; elapsedMs < 250; elapsedMs += 50) await clock.advance(50);
  expect(await next).toEqual([4]);
});

test("a read that returns our own commits does not mistake them for another process's", async () => {
  const { log, tail, elsewhere, store, clock } = await setUp();
  const { owner, session } = elsewhere;
  const runId = aRunId();
  const watches: string[] = [];
  const watch = store.watch.bind(store);
  store.watch = (id, pace, wake) => {
    watches.push(pace);
    return watch(id, pace, wake);
  };
  const next = nextSeqs(tail);
  await clock.advance(10);
  // The gap before our own seq makes it read both.
  await elsewhere.commit([aNotice()]);
  await log.commit({ owner, session, events: [aDelta(runId, "some words")] });
  await next;
  await nextTurn();
  expect(watches).toEqual([]);
});
