import { strict as assert } from "node:assert";

import type { OwnerId, SessionId } from "@holdfast/protocol";

import { createLog, type Log, type LogOptions, type TailItem } from "@holdfast/engine";
import { aNotice, toSeq } from "../fixtures/factories.ts";
import { type GatedStore, gatedStore } from "../fakes/gated-store.ts";
import type { StoreHarness } from "../conformance/harness.ts";
import { type ManualClock, manualClock } from "../fakes/manual-clock.ts";
import {
  assertCommitted,
  type TestSession,
  openTestSession,
  seqsOf,
} from "../fixtures/open-session.ts";

/** A log with one session that others write to as well, and its readers. */
export interface TailRig {
  readonly log: Log;
  readonly store: GatedStore;
  readonly clock: ManualClock;
  /** The session through a handle whose commits the log doesn't see. */
  readonly elsewhere: TestSession;
  /** One commit through the log: a notice per text. */
  readonly here: (...texts: string[]) => Promise<void>;
  readonly follow: (after: number, signal?: AbortSignal) => AsyncIterator<TailItem>;
}

export async function openTailRig(
  harness: StoreHarness,
  options: LogOptions = {},
): Promise<TailRig> {
  const elsewhere = await openTestSession(await harness.open());
  const store = gatedStore(harness.store);
  const clock = manualClock();
  const log = createLog(store, { clock, random: () => 0.5, ...options });
  const { owner, session } = elsewhere;
  return {
    log,
    store,
    clock,
    elsewhere,
    async here(...texts) {
      const events = texts.map((text) => aNotice(text));
      assertCommitted(await log.commit({ owner, session, events }));
    },
    follow: (after, signal) => followFrom(log, owner, session, after, signal),
  };
}

export function followFrom(
  log: Log,
  owner: OwnerId,
  session: SessionId,
  after: number,
  signal?: AbortSignal,
): AsyncIterator<TailItem> {
  const tail = log.tail(owner, session, toSeq(after), signal ? { signal } : {});
  return tail[Symbol.asyncIterator]();
}

/** The seqs of the next item, which must have events. */
export async function nextSeqs(tail: AsyncIterator<TailItem>): Promise<number[]> {
  const result = await tail.next();
  assert.ok(result.done !== true, "the tail has ended");
  assert.equal(result.value.kind, "events", JSON.stringify(result.value));
  return result.value.kind === "events" ? seqsOf(result.value.events) : [];
}
