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

/** A session that this process writes to and looks at, the first read behind it. */
async function setUp() {
  const rig = await openTailRig(harness);
  const tail = rig.follow(1);
  const first = nextSeqs(tail);
  await nextTurn();
  await rig.here("two");
  expect(await first).toEqual([2]);
  // The store told of this commit before we had written anything, so it is looked for once.
  const second = nextSeqs(tail);
  await nextTurn();
  await rig.here("three");
  expect(await second).toEqual([3]);
  return { ...rig, tail };
}

test("as long as this process writes, its readers ask the store for nothing", async () => {
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

test("what another process writes meanwhile is found by the hole before the next number", async () => {
  const { here, tail, elsewhere, clock } = await setUp();
  const next = nextSeqs(tail);
  await clock.advance(40);
  await elsewhere.commit([aNotice()]);
  await here("five");
  const seen = await next;
  expect(seen.at(-1) === 5 ? seen : [...seen, ...(await nextSeqs(tail))]).toEqual([4, 5]);
});

test("what another process writes behind our last number is found when we have stopped writing", async () => {
  const { tail, elsewhere, clock } = await setUp();
  const next = nextSeqs(tail);
  await elsewhere.commit([aNotice()]);
  for (let passed = 0; passed < 250; passed += 50) await clock.advance(50);
  expect(await next).toEqual([4]);
});

test("a read that meets our own commits does not take them for somebody else's", async () => {
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
  // The hole before our own number makes it read both.
  await elsewhere.commit([aNotice()]);
  await log.commit({ owner, session, events: [aDelta(runId, "some words")] });
  await next;
  await nextTurn();
  expect(watches).toEqual([]);
});
