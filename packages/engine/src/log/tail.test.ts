import { ids, type StoredEvent } from "@holdfast/protocol";
import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { aNotice, aRunId, aRunState, toSeq } from "@holdfast/testing/fixtures/factories";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { followFrom, nextSeqs, openTailRig, type TailRig } from "@holdfast/testing/rigs/tail-rig";
import { type StoreHarness } from "@holdfast/testing/conformance/harness";
import { nextTurn } from "@holdfast/testing/fakes/manual-clock";
import { type Store, StoreFailure } from "../ports/store.ts";
import { AcknowledgedEvents, type LostEvents } from "./acknowledged.ts";
import { createLog, type LogOptions } from "./log.ts";

let harness: StoreHarness;
beforeEach(async () => {
  harness = await referenceHarness.open();
});
afterEach(() => harness.close());
const rig = (options?: LogOptions): Promise<TailRig> => openTailRig(harness, options);

describe("[P5] a tail yields exactly the missing suffix", () => {
  test("it yields what was committed before it, then what is committed after it", async () => {
    const { follow, here } = await rig();
    await here("two", "three");
    const tail = follow(1);
    expect(await nextSeqs(tail)).toEqual([2, 3]);
    const next = nextSeqs(tail);
    await here("four");
    expect(await next).toEqual([4]);
  });

  test("a commit during the first read is neither lost nor shown twice", async () => {
    const { follow, here, store } = await rig();
    const release = store.hold();
    const tail = follow(0);
    const first = nextSeqs(tail);
    await nextTurn();
    await here("two");
    await release();
    expect(await first).toEqual([1]);
    expect(await nextSeqs(tail)).toEqual([2]);
  });

  test("a commit elsewhere is found by reading, at once if nothing was written here", async () => {
    const { follow, elsewhere } = await rig();
    const tail = follow(1);
    const next = nextSeqs(tail);
    await nextTurn();
    await elsewhere.commit([aNotice()]);
    expect(await next).toEqual([2]);
  });

  test("a hint in flight when a foreign run was noticed is not missed", async () => {
    // The watch then changes its pace, and nobody reports what the old one had still to report.
    const deaf = { ...harness.store, watch: () => () => {} };
    const { follow, elsewhere, store } = await openTailRig({ ...harness, store: deaf });
    await elsewhere.commit([aRunState(aRunId(), "claimed")]);
    const release = store.hold();
    const tail = follow(1);
    const first = nextSeqs(tail);
    await nextTurn();
    await elsewhere.commit([aNotice()]);
    await release();
    expect(await first).toEqual([2]);
    const late = nextTurn().then(nextTurn);
    expect(await Promise.race([nextSeqs(tail), late])).toEqual([3]);
  });

  test("while this process writes, it looks for foreign commits four times a second", async () => {
    const { follow, elsewhere, here, clock, store } = await rig();
    const tail = follow(1);
    const first = nextSeqs(tail);
    await nextTurn();
    await here("two");
    expect(await first).toEqual([2]);
    const second = nextSeqs(tail);
    await nextTurn();
    const readsBefore = store.gate.reads;
    await elsewhere.commit([aNotice()]);
    await nextTurn();
    expect(store.gate.reads).toBe(readsBefore);
    await clock.advance(250);
    expect(await second).toEqual([3]);
  });

  test("a foreign commit between two local ones is read in its place", async () => {
    const { follow, elsewhere, here } = await rig();
    const tail = follow(1);
    const first = nextSeqs(tail);
    await nextTurn();
    await here("two");
    expect(await first).toEqual([2]);
    const second = nextSeqs(tail);
    await nextTurn();
    await elsewhere.commit([aNotice()]);
    await here("four");
    expect(await second).toEqual([3, 4]);
  });

  test("a commit whose answer was lost is looked up in the store", async () => {
    const { log, follow, elsewhere, store } = await rig();
    const { owner, session } = elsewhere;
    const commit = store.commit.bind(store);
    let answers = 0;
    store.commit = async (given) => {
      const result = await commit(given);
      answers += 1;
      return answers === 1 ? { status: "failed", code: "store_unknown", message: "lost" } : result;
    };
    // No hint from the store: the log has to look by itself.
    store.watch = () => () => undefined;
    const tail = follow(1);
    const next = nextSeqs(tail);
    await nextTurn();
    const result = await log.commit({ owner, session, events: [aNotice()] }, { retryForMs: 0 });
    expect(result).toMatchObject({ status: "failed", code: "store_unknown" });
    expect(await next).toEqual([2]);
  });
});

describe("shared reads", () => {
  test("local commits reach a thousand readers without a read", async () => {
    const { follow, here, store } = await rig();
    const tails = Array.from({ length: 1000 }, () => follow(1));
    const first = tails.map((tail) => tail.next());
    await nextTurn();
    await here("two");
    await Promise.all(first);
    expect(store.gate.watches).toBe(1);
    let next = tails.map((tail) => nextSeqs(tail));
    await nextTurn();
    const readsBefore = store.gate.reads;
    for (const seq of [3, 4, 5]) {
      await here("more");
      expect(await Promise.all(next)).toEqual(tails.map(() => [seq]));
      next = tails.map((tail) => nextSeqs(tail));
    }
    expect(store.gate.reads).toBe(readsBefore);
  });

  test("a commit elsewhere costs one read for a thousand readers", async () => {
    const { follow, elsewhere, store } = await rig();
    const tails = Array.from({ length: 1000 }, () => follow(1));
    const next = tails.map((tail) => nextSeqs(tail));
    await nextTurn();
    expect(store.gate.reads).toBe(1);
    await elsewhere.commit([aNotice()]);
    expect(await Promise.all(next)).toEqual(tails.map(() => [2]));
    expect(store.gate.reads).toBe(2);
  });
});

describe("resync", () => {
  test("a cursor beyond the head gets a resync, and the tail continues from the head", async () => {
    const { follow, here } = await rig();
    const tail = follow(99);
    expect(await tail.next()).toEqual({ done: false, value: { kind: "resync", head: 1 } });
    const next = nextSeqs(tail);
    await here("two");
    expect(await next).toEqual([2]);
  });

  test("a cursor further behind than the limit gets a resync, and one at the limit does not", async () => {
    const { follow, here } = await rig({ maxBehind: 3 });
    await here("two", "three", "four", "five");
    expect((await follow(1).next()).value).toEqual({ kind: "resync", head: 5 });
    expect(await nextSeqs(follow(2))).toEqual([3, 4, 5]);
  });

  test("a cursor that no read can have covered yet is not beyond the head", async () => {
    const { follow, here, store } = await rig();
    const release = store.hold();
    const early = follow(2);
    const first = early.next();
    await nextTurn();
    await here("two");
    const late = follow(2);
    const next = nextSeqs(late);
    await release();
    expect((await first).value).toEqual({ kind: "resync", head: 1 });
    await here("three");
    expect(await next).toEqual([3]);
  });
});

/** A database that can lose its newest events, as one that fails over to a replica that lags behind. */
function losingStore(store: Store) {
  let lostFrom = Infinity;
  const rewritten: StoredEvent[] = [];
  const wakes = new Set<(item: null) => void>();
  const losing: Store = {
    ...store,
    watchWork(wake) {
      wakes.add(wake);
      return () => wakes.delete(wake);
    },
    reads: {
      ...store.reads,
      async events(owner, session, query) {
        const page = await store.reads.events(owner, session, query);
        if (page === null || lostFrom === Infinity) return page;
        const all = await store.reads.events(owner, session, { after: toSeq(0), limit: 100 });
        const left = [...(all?.events ?? []).filter(({ seq }) => seq < lostFrom), ...rewritten];
        return {
          events: left.filter(({ seq }) => seq > query.after).slice(0, query.limit),
          head: left.at(-1)?.seq ?? toSeq(0),
          more: false,
        };
      },
    },
  };
  return {
    store: losing,
    /** Everything from this seq on is gone, and others may have written something else since. */
    lose(from: number, since: readonly StoredEvent[] = []): void {
      lostFrom = from;
      rewritten.push(...since);
      for (const wake of wakes) wake(null);
    },
  };
}

describe("[P5] a database that has lost what was acknowledged", () => {
  async function lossRig() {
    const losing = losingStore(harness.store);
    const lost: LostEvents[] = [];
    const onLost = (found: readonly LostEvents[]) => void lost.push(...found);
    const own = await openTailRig({ ...harness, store: losing.store }, { onLost });
    const { owner, session } = own.elsewhere;
    return { ...own, losing, lost, owner, session };
  }

  test("is noticed, and its readers start anew", async () => {
    const { here, follow, losing, lost, owner, session } = await lossRig();
    await here("two", "three");
    const tail = follow(1);
    expect(await nextSeqs(tail)).toEqual([2, 3]);
    const next = tail.next();
    losing.lose(3);
    expect((await next).value).toEqual({ kind: "resync", head: 2 });
    expect(lost).toEqual([{ owner, session, upTo: 3, head: 2 }]);
    losing.lose(3);
    await nextTurn();
    expect(lost).toHaveLength(1);
  });

  test("is noticed even after others have written as much again", async () => {
    const { here, follow, losing, lost, owner, session, elsewhere } = await lossRig();
    await here("two", "three");
    const tail = follow(1);
    expect(await nextSeqs(tail)).toEqual([2, 3]);
    const next = tail.next();
    const [first] = await elsewhere.events();
    const other = (seq: number) => ({ ...first!, id: ids.make("event"), seq: toSeq(seq) });
    losing.lose(3, [other(3), other(4)]);
    expect((await next).value).toEqual({ kind: "resync", head: 4 });
    expect(lost).toEqual([{ owner, session, upTo: 3, head: 4 }]);
  });

  test("is not suspected while nothing is missing", async () => {
    const { here, follow, losing, lost } = await lossRig();
    await here("two");
    const tail = follow(1);
    expect(await nextSeqs(tail)).toEqual([2]);
    losing.lose(99);
    await nextTurn();
    const next = nextSeqs(tail);
    losing.lose(Infinity);
    await here("three");
    expect(await next).toEqual([3]);
    expect(lost).toEqual([]);
  });
});

test("a database that goes away while losses are looked for keeps none of them from being found", async () => {
  const kept = await openTestSession(harness.store);
  const { owner } = kept;
  const gone = ids.make("session");
  const acknowledged = new AcknowledgedEvents();
  const event = { seq: toSeq(1), id: ids.make("event"), type: "message.user" };
  acknowledged.note(owner, kept.session, event);
  acknowledged.note(owner, gone, event);
  const away = new StoreFailure("store_unavailable", "away");
  const events: Store["reads"]["events"] = async (of, session, query) => {
    if (session === kept.session) throw away;
    return harness.store.reads.events(of, session, query);
  };
  const { audit } = harness.store;
  const failing = { audit, reads: { ...harness.store.reads, events } };
  await expect(acknowledged.findLost(failing)).rejects.toBe(away);
  const lost = await acknowledged.findLost(harness.store, gone);
  expect(lost).toEqual([{ owner, session: gone, upTo: 1, head: null }]);
});

test("a session that another host has deleted for good is not taken for lost", async () => {
  const losing = losingStore(harness.store);
  const lost: LostEvents[] = [];
  const onLost = (found: readonly LostEvents[]) => void lost.push(...found);
  const own = await openTailRig({ ...harness, store: losing.store }, { onLost });
  const { owner, session } = own.elsewhere;
  await own.here("two");
  // Nobody here has followed it to its end.
  await createLog(harness.store).trashSession(owner, session);
  expect(await harness.store.purge(owner, session)).toMatchObject({ status: "purged" });
  losing.lose(Infinity);
  for (let turns = 0; turns < 20; turns += 1) await nextTurn();
  expect(lost).toEqual([]);
});

describe("a tail that ends", () => {
  test("of a session that does not exist says so once, and is forgotten", async () => {
    const { log, elsewhere } = await rig();
    const tail = followFrom(log, elsewhere.owner, ids.make("session"), 0);
    expect(await tail.next()).toEqual({ done: false, value: { kind: "gone" } });
    expect(await tail.next()).toEqual({ done: true, value: undefined });
    expect(log.watchedSessions).toBe(0);
  });

  test("leaves no timer, even while the store cannot be read", async () => {
    const { follow, store, clock, log } = await rig();
    store.gate.failing = true;
    const tail = follow(0);
    expect(await tail.next()).toMatchObject({ value: { kind: "status", reading: "failing" } });
    const next = tail.next();
    await nextTurn();
    expect(clock.sleepers).toBe(1);
    await tail.return?.();
    expect(await next).toEqual({ done: true, value: undefined });
    expect([clock.sleepers, log.watchedSessions]).toEqual([0, 0]);
  });
});
