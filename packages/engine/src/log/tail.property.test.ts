import type { Seq, StoredEvent } from "@holdfast/protocol";
import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import * as fc from "fast-check";
import { expect, test } from "vitest";

import { type Clock } from "../ports/clock.ts";
import { type Store, StoreFailure } from "../ports/store.ts";
import { aDelta, aNotice, aSettledMessage, toSeq } from "@holdfast/testing/fixtures/factories";
import {
  assertCommitted,
  openTestSession,
  assertPresent,
} from "@holdfast/testing/fixtures/open-session";
import { nextTurn } from "@holdfast/testing/fakes/manual-clock";
import { createLog, type Log } from "./log.ts";

/** Sleeping costs turns of the event loop, not time. */
const quickClock: Clock = { now: () => performance.now(), sleep: () => nextTurn() };

type Step =
  | {
      readonly do: "write";
      readonly where: "here" | "elsewhere";
      readonly what: "notices" | "deltas";
      readonly n: number;
    }
  | { readonly do: "settle"; readonly where: "here" | "elsewhere" }
  | { readonly do: "prune" }
  | {
      readonly do: "follow";
      readonly back: number;
      readonly pause: number;
      readonly leaveAfter: number | null;
    }
  | { readonly do: "wait"; readonly turns: number };

const location = fc.constantFrom("here", "elsewhere");
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("write"),
      where: location,
      what: fc.constantFrom("notices", "deltas"),
      n: fc.integer({ min: 1, max: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("settle"), where: location }) },
  { weight: 1, arbitrary: fc.constant({ do: "prune" }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("follow"),
      back: fc.nat(12),
      pause: fc.nat(3),
      leaveAfter: fc.option(fc.nat(6)),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("wait"), turns: fc.integer({ min: 1, max: 4 }) }),
  },
);

/** Reads that take some turns and sometimes fail, as a list of numbers says. */
function flakyReads(store: Store, delays: readonly number[]): Store {
  let calls = 0;
  return {
    ...store,
    reads: {
      ...store.reads,
      async events(owner, id, query) {
        const delay = delays[calls++ % delays.length] ?? 0;
        for (let turn = 0; turn < delay % 4; turn += 1) await nextTurn();
        if (delay === 7) throw new StoreFailure("store_unavailable", "in a mood");
        const page = await store.reads.events(owner, id, query);
        for (let turn = 0; turn < delay % 3; turn += 1) await nextTurn();
        return page;
      },
    },
  };
}

interface Reader {
  readonly from: Seq;
  readonly seen: StoredEvent[];
  /** The seq at which it has everything. */
  last: number;
  left: boolean;
}

/** Follows until it has seen the last event, at its own pace, and reconnects where it was cut off. */
async function readAll(
  log: Log,
  tailArguments: Parameters<Log["tail"]>,
  reader: Reader,
  pause: number,
  leaveAfter: number | null,
) {
  const leaving = new AbortController();
  let cursor = reader.from;
  for (;;) {
    for await (const item of log.tail(tailArguments[0], tailArguments[1], cursor, {
      signal: leaving.signal,
    })) {
      if (item.kind === "cut") expect(item.after).toBe(cursor);
      expect(item.kind).toMatch(/^(events|status|cut)$/);
      if (item.kind !== "events") continue;
      reader.seen.push(...item.events);
      cursor = assertPresent(item.events.at(-1)).seq;
      for (let turn = 0; turn < pause; turn += 1) await nextTurn();
      if (leaveAfter !== null && reader.seen.length >= leaveAfter) leaving.abort();
      if (cursor >= reader.last) break;
    }
    reader.left = leaving.signal.aborted;
    if (reader.left || cursor >= reader.last) return;
  }
}

async function play(steps: readonly Step[], delays: readonly number[]): Promise<void> {
  const harness = await referenceHarness.open();
  const other = await harness.open();
  const session = await openTestSession(other);
  const { runId } = await session.startRun();
  const { owner, session: id } = session;
  const log = createLog(flakyReads(harness.store, delays), {
    clock: quickClock,
    leadMs: 2,
    pageSize: 3,
    ring: { events: 6, bytes: 1e6 },
  });
  let open: [number, number][] = [];
  const readers: { reader: Reader; done: Promise<void> }[] = [];
  const write = async (place: "here" | "elsewhere", events: Parameters<typeof session.send>[0]) => {
    const commit = { owner, session: id, events };
    const result = await (place === "here" ? log.commit(commit) : other.commit(commit));
    return assertCommitted(result);
  };

  const settle = async (place: "here" | "elsewhere") => {
    if (open.length === 0) return;
    await write(place, [aSettledMessage(runId, "settled", open)]);
    open = [];
  };

  for (const action of steps) {
    if (action.do === "wait") for (let n = 0; n < action.turns; n += 1) await nextTurn();
    else if (action.do === "prune") await other.prune(100);
    else if (action.do === "settle") await settle(action.where);
    else if (action.do === "write") {
      const make = action.what === "deltas" ? () => aDelta(runId) : () => aNotice();
      const { first, last } = await write(action.where, Array.from({ length: action.n }, make));
      if (action.what === "deltas") open.push([first, last]);
    } else {
      const { head } = await session.row();
      const from = toSeq(Math.max(0, head - action.back));
      const reader: Reader = { from, seen: [], last: Infinity, left: false };
      readers.push({
        reader,
        done: readAll(log, [owner, id, from], reader, action.pause, action.leaveAfter),
      });
    }
  }
  const { last } = await write("elsewhere", [aNotice("the end")]);
  for (const { reader } of readers) reader.last = last;
  await write("here", [aNotice("after the end")]);
  await Promise.all(readers.map(({ done }) => done));

  const stored = await session.events();
  for (const { reader } of readers) {
    const seqs = reader.seen.map((event) => event.seq);
    expect(seqs).toEqual([...new Set(seqs)].toSorted((a, b) => a - b));
    expect(seqs.every((seq) => seq > reader.from)).toBe(true);
    // Settled deltas may be missing; everything still readable up to the last event may not.
    const end = seqs.at(-1) ?? reader.from;
    const needed = stored
      .filter(({ seq }) => seq > reader.from && seq <= end)
      .map(({ seq }) => seq);
    expect(seqs).toEqual(expect.arrayContaining(needed));
    expect(reader.left || end >= last).toBe(true);
  }
  expect(log.watchedSessions).toBe(0);
  await other.close();
  await harness.close();
}

test("[P5] any interleaving of local and foreign commits, slow and failing reads and leaving readers yields exactly the missing suffix", async () => {
  const delays = fc.array(fc.nat(7), { maxLength: 12 }).map((some) => [...some, 0]);
  const program = fc.array(step, { minLength: 1, maxLength: 40 });
  await fc.assert(fc.asyncProperty(program, delays, play), { numRuns: 200, timeout: 15_000 });
});
