import { type Fence, ids, type LaneKey } from "@holdfast/protocol";
import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { type Audit } from "../ports/audit.ts";
import { StoreFailure } from "../ports/store.ts";
import {
  aDelta,
  aLane,
  anEvent,
  aNotice,
  aRange,
  aSession,
  aSettledMessage,
  aUsage,
  aUserMessage,
  toSeq,
} from "@holdfast/testing/fixtures/factories";
import {
  assertCommitted,
  openTestSession,
  type TestSession,
} from "@holdfast/testing/fixtures/open-session";
import {
  openFullSession,
  auditWithDerived,
  auditWithEvents,
} from "@holdfast/testing/fixtures/damaged-audit";
import { type StoreHarness } from "@holdfast/testing/conformance/harness";
import { type FsckMode } from "./check-session.ts";
import { fsckExit } from "./findings.ts";
import { runFsck } from "./fsck.ts";

let harness: StoreHarness;
let chat: TestSession;
let lane: LaneKey;
beforeEach(async () => {
  harness = await referenceHarness.open();
  lane = aLane();
  ({ chat } = await openFullSession(harness.store, lane));
});
afterEach(() => harness.close());

const audit = (): Audit => harness.store.audit;
const check = async (source: Audit = audit(), mode: FsckMode = "check") =>
  runFsck(source, { mode, now: await harness.store.now() });
const damaged = (parts: Partial<Audit>): Audit => ({ ...audit(), ...parts });

describe("[P14] an undamaged store", () => {
  test("has no findings, whatever happened in it", async () => {
    const { store } = harness;
    const other = await openTestSession(store, {}, chat.owner);
    await other.commit([anEvent("lane.bound", { lane })]);
    await other.lease("memory");
    const branch = aSession(
      {
        origin: { sessionId: chat.session, seq: toSeq(5) },
        ranges: [aRange(1, 5, chat.session), aRange(6)],
      },
      chat.owner,
      aUserMessage("on its own way"),
    );
    assertCommitted(await store.commit(branch));
    const gone = await openTestSession(store, {}, chat.owner);
    await gone.commit([aUsage(undefined), anEvent("session.trashed", {})]);
    expect(await store.purge(gone.owner, gone.session)).toMatchObject({ status: "purged" });
    expect(await check()).toMatchObject({
      found: [],
      exitCode: fsckExit.clean,
      sessions: 3,
      blobs: 1,
    });
  });

  test("stays so when an origin is purged and its branch continues", async () => {
    const { store } = harness;
    const branch = aSession(
      {
        origin: { sessionId: chat.session, seq: toSeq(4) },
        ranges: [aRange(1, 4, chat.session), aRange(5)],
      },
      chat.owner,
    );
    assertCommitted(await store.commit(branch));
    await chat.commit([anEvent("session.trashed", {})]);
    expect(await store.purge(chat.owner, chat.session)).toMatchObject({ status: "purged" });
    expect(await check()).toMatchObject({ found: [], unproven: [] });
    const hidden = auditWithEvents(audit(), chat.session, () => []);
    expect(await check(hidden, "rebuild")).toMatchObject({
      found: [{ code: "origin_missing", session: branch.session }],
      exitCode: fsckExit.damaged,
      unproven: ["lanes", "blob references"],
    });
  });

  test("accepts that a purged origin keeps only what its branch reads, without output that was still open", async () => {
    const { store } = harness;
    const origin = await openTestSession(store, {}, chat.owner);
    const { runId, under } = await origin.startRun();
    const { first } = await origin.commit([aDelta(runId), aDelta(runId)], { under });
    await origin.commit([aSettledMessage(runId, "two", [[first, first + 1]])], { under });
    const { last } = await origin.commit([aDelta(runId), aNotice(), aDelta(runId)], { under });
    const settings = {
      origin: { sessionId: origin.session, seq: last },
      ranges: [aRange(1, last, origin.session), aRange(last + 1)],
    };
    const branch = await openTestSession(store, settings, chat.owner);
    await origin.commit([anEvent("session.trashed", {})]);
    await store.purge(origin.owner, origin.session);
    expect((await check()).found).toEqual([]);
    const lost = { code: "origin_missing", session: branch.session };
    for (const seq of [1, 2]) {
      const gap = auditWithEvents(audit(), origin.session, (rows) =>
        rows.filter((row) => row.seq !== seq),
      );
      expect((await check(gap)).found).toMatchObject([lost]);
    }
  });

  test("stays so when the last activity was output that has since been deleted, and its settlement was quiet", async () => {
    const session = await openTestSession(harness.store);
    const { runId, under } = await session.startRun();
    await harness.advanceClock(5_000);
    const { first } = await session.commit([aDelta(runId)], { under });
    await harness.advanceClock(5_000);
    await session.commit([aSettledMessage(runId, "late", [[first, first]])], { touch: "quiet" });
    await harness.store.prune(100);
    expect((await check()).found).toEqual([]);
    await harness.advanceClock(5_000);
    await session.commit([aNotice()]);
    const damagedAudit = auditWithDerived(audit(), session.session, (derived) => ({
      ...derived,
      session: { ...derived.session, activityAt: derived.session.activityAt - 1 },
    }));
    expect((await check(damagedAudit)).found).toMatchObject([
      { code: "row_differs", table: "sessions" },
    ]);
  });

  test("lists spilled output in files, which is not damage", async () => {
    const { owner, session } = chat;
    const ref = { session, runId: ids.make("run"), fence: 3 as Fence, place: "here" };
    const header = { ...ref, owner, ingestId: ids.make("event") };
    const journals = { left: async () => [header] };
    const found = await runFsck(audit(), { now: await harness.store.now(), spills: journals });
    expect(found).toMatchObject({ findings: 0, exitCode: fsckExit.clean });
    expect(found.spills).toEqual([{ session, runId: ref.runId }]);
  });

  test("reports its progress", async () => {
    const seen: number[] = [];
    const onProgress = ({ sessions }: { sessions: number }) => void seen.push(sessions);
    await openTestSession(harness.store);
    await runFsck(harness.store.audit, { now: 0, onProgress });
    expect(seen).toEqual([1, 2]);
  });
});

describe("a store that is written or lost during the check", () => {
  test("is read again where it moved, and what cannot be proven is listed", async () => {
    let writes = 0;
    const once = damaged({
      async *events(session) {
        yield* audit().events(session);
        if (writes++ === 0) await chat.commit([aNotice()]);
      },
    });
    expect(await check(once)).toMatchObject({ found: [], unproven: [], exitCode: fsckExit.clean });
    const always = damaged({
      async *events(session) {
        yield* audit().events(session);
        await chat.commit([aNotice()]);
      },
    });
    const result = await check(always);
    expect(result.found).toEqual([]);
    expect(result.unproven).toEqual([`session ${chat.session}`, "lanes", "blob references"]);
  });

  test("ends with the exit code for a check that could not run", async () => {
    const source = damaged({
      derived: async () => {
        throw new StoreFailure("store_unavailable", "unplugged");
      },
    });
    expect(await check(source)).toMatchObject({
      exitCode: fsckExit.failed,
      failure: "store_unavailable: unplugged",
    });
  });
});
