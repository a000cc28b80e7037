import { type BlobId, ids, type LaneKey } from "@holdfast/protocol";
import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { type Audit, type Derived } from "../ports/audit.ts";
import {
  toFence,
  aHolder,
  aLane,
  anEvent,
  anOwner,
  toSeq,
} from "@holdfast/testing/fixtures/factories";
import { openFullSession, auditWithDerived } from "@holdfast/testing/fixtures/damaged-audit";
import {
  openTestSession,
  assertPresent,
  type TestSession,
} from "@holdfast/testing/fixtures/open-session";
import { type StoreHarness } from "@holdfast/testing/conformance/harness";
import { type FsckMode } from "./check-session.ts";
import { fsckExit } from "./findings.ts";
import { runFsck } from "./fsck.ts";

let harness: StoreHarness;
let chat: TestSession;
let blob: BlobId;
let lane: LaneKey;
beforeEach(async () => {
  harness = await referenceHarness.open();
  lane = aLane();
  ({ chat, blob } = await openFullSession(harness.store, lane));
});
afterEach(() => harness.close());

const audit = (): Audit => harness.store.audit;
const check = async (source: Audit = audit(), mode: FsckMode = "check") =>
  runFsck(source, { mode, now: await harness.store.now() });
const codesOf = async (source: Audit): Promise<string[]> => {
  const { found } = await check(source);
  return [...new Set(found.map((finding) => finding.code))];
};
const damaged = (parts: Partial<Audit>): Audit => ({ ...audit(), ...parts });

describe("[P14] damage in derived rows is found, repaired by a rebuild, and proven equal", () => {
  const damages: [string, string, string, (derived: Derived) => Derived][] = [
    [
      "a title that nobody set",
      "sessions",
      "row_differs",
      (d) => ({ ...d, session: { ...d.session, title: "Other" } }),
    ],
    [
      "a run in another state",
      "runs",
      "row_differs",
      (d) => ({ ...d, runs: d.runs.map((run) => ({ ...run, state: "failed" })) }),
    ],
    ["an input that is missing", "inputs", "row_missing", (d) => ({ ...d, inputs: [] })],
    ["an approval that is missing", "approvals", "row_missing", (d) => ({ ...d, approvals: [] })],
    [
      "an approval that nobody gave",
      "approvals",
      "row_differs",
      (d) => ({
        ...d,
        approvals: d.approvals.map((row) => ({ ...row, state: "answered", decision: "once" })),
      }),
    ],
    ["a mark that is missing", "marks", "row_missing", (d) => ({ ...d, marks: [] })],
    [
      "a mark of another provider",
      "marks",
      "row_differs",
      (d) => ({ ...d, marks: d.marks.map((row) => ({ ...row, provider: "other" })) }),
    ],
    ["a try that is missing", "memory_tries", "row_missing", (d) => ({ ...d, memoryTries: [] })],
    ["a missing chunk", "outbox", "row_missing", (d) => ({ ...d, outbox: d.outbox.slice(1) })],
    [
      "a chunk that was never sent",
      "outbox",
      "row_differs",
      (d) => ({
        ...d,
        outbox: d.outbox.map((row) => (row.chunk === 0 ? { ...row, state: "sent" } : row)),
      }),
    ],
    ["a cost that is missing", "usage", "row_missing", (d) => ({ ...d, usage: [] })],
    [
      "a cost that never occurred",
      "usage",
      "row_extra",
      (d) => ({ ...d, usage: [...d.usage, { ...assertPresent(d.usage[0]), seq: toSeq(1) }] }),
    ],
    [
      "a lane with another time",
      "lanes",
      "row_differs",
      (d) => ({ ...d, lanes: d.lanes.map((row) => ({ ...row, at: 1 })) }),
    ],
  ];
  test.each(damages)("%s", async (_name, table, code, change) => {
    const { found, exitCode } = await check(auditWithDerived(audit(), chat.session, change));
    expect(new Set(found.map((finding) => `${finding.table} ${finding.code}`))).toEqual(
      new Set([`${table} ${code}`]),
    );
    expect(found.every((finding) => finding.repair === "possible")).toBe(true);
    expect(exitCode).toBe(fsckExit.damaged);

    const rebuilt = await check(auditWithDerived(audit(), chat.session, change), "rebuild");
    expect(rebuilt.found.map((finding) => finding.repair)).toEqual(found.map(() => "done"));
    expect(rebuilt.exitCode).toBe(fsckExit.repaired);
    expect((await check()).found).toEqual([]);
  });

  test("a lane that still points at a session after another one bound it", async () => {
    const other = await openTestSession(harness.store, {}, chat.owner);
    const before = assertPresent(await audit().derived(chat.session));
    await harness.advanceClock(1_000);
    await other.commit([anEvent("lane.bound", { lane })]);
    const later = assertPresent(await audit().derived(other.session));
    await audit().replaceDerived({ ...later, lanes: [] });
    await audit().replaceDerived(before);
    expect((await check()).found).toMatchObject([
      { code: "lane_differs", session: other.session, repair: "possible" },
    ]);
    expect(await check(audit(), "rebuild")).toMatchObject({ exitCode: fsckExit.repaired });
    expect((await check()).found).toEqual([]);
    expect(await harness.store.reads.lane(chat.owner, lane)).toBe(other.session);
  });

  test("a lost lane, unless the session that had it last may have been purged", async () => {
    const derived = assertPresent(await audit().derived(chat.session));
    await audit().replaceDerived({ ...derived, lanes: [] });
    const lost = [{ code: "lane_differs", session: chat.session, repair: "possible" }];
    expect((await check()).found).toMatchObject(lost);
    const gone = await openTestSession(harness.store, {}, chat.owner);
    await gone.commit([anEvent("session.trashed", {})]);
    await harness.store.purge(gone.owner, gone.session);
    expect((await check()).found).toEqual([]);
  });

  test("a lane is not rebound because a clock stepped back", async () => {
    const other = await openTestSession(harness.store, {}, chat.owner);
    await harness.advanceClock(-1_000);
    const late = await openTestSession(harness.store, {}, chat.owner);
    await other.commit([anEvent("lane.bound", { lane })]);
    await late.commit([anEvent("lane.bound", { lane })]);
    expect((await check()).found).toEqual([]);
  });

  test("a rebuild whose rows do not read back equal has failed", async () => {
    const forgetful = auditWithDerived(audit(), chat.session, (derived) => ({
      ...derived,
      usage: [],
    }));
    const stubborn: Audit = { ...forgetful, replaceDerived: async () => "replaced" };
    const { found, exitCode } = await check(stubborn, "rebuild");
    expect(found).toMatchObject([{ code: "row_missing", table: "usage", repair: "failed" }]);
    expect(exitCode).toBe(fsckExit.damaged);
  });

  test("miscounted references to a blob", async () => {
    await audit().replaceBlobRefs(new Map([[blob, 7]]), chat.owner);
    expect((await check()).found).toMatchObject([{ code: "blob_refs_differ", repair: "possible" }]);
    expect(await check(audit(), "rebuild")).toMatchObject({ exitCode: fsckExit.repaired });
    expect((await check()).found).toEqual([]);
  });
});

describe("[P14] damage outside the log is found", () => {
  test("a blob whose bytes have changed, and a missing one", async () => {
    const broken = damaged({
      async *blobs() {
        for await (const stored of audit().blobs()) yield { ...stored, intact: false };
      },
    });
    expect(await codesOf(broken)).toEqual(["blob_damaged"]);
    expect(await codesOf(damaged({ async *blobs() {} }))).toEqual(["blob_missing"]);
  });

  test("leases with an impossible fence, time or session", async () => {
    const now = await harness.store.now();
    const trashed = await openTestSession(harness.store);
    await trashed.commit([anEvent("session.trashed", {})]);
    const sound = {
      kind: "run",
      session: chat.session,
      fence: toFence(1),
      holder: aHolder(),
      expiresAt: now,
    } as const;
    const unsound = [
      { ...sound, fence: toFence(0) },
      { ...sound, expiresAt: now + 1e12 },
      { ...sound, session: ids.make("session") },
      { ...sound, session: trashed.session },
    ];
    const { found } = await check(
      damaged({
        leases: async function* () {
          yield sound;
          yield* unsound;
        },
      }),
    );
    expect(found.map((finding) => finding.code)).toEqual(unsound.map(() => "lease_unsound"));
  });

  test("rows of a session that does not exist, but not the costs of a purged one", async () => {
    const [purged, never] = [ids.make("session"), ids.make("session")];
    const source = damaged({
      async *purges() {
        yield { session: purged, owner: anOwner(), at: 1, events: 3 };
      },
      async *orphans() {
        yield { table: "usage", key: `${purged} 3` };
        yield { table: "usage", key: `${never} 3` };
        yield { table: "runs", key: purged };
      },
    });
    expect((await check(source)).found).toMatchObject([
      { code: "row_orphaned", table: "usage", session: never },
      { code: "row_orphaned", table: "runs" },
    ]);
  });

  test("what the database reports about itself", async () => {
    const source = damaged({ integrity: async () => ["page 7 is never used"] });
    expect((await check(source)).found).toMatchObject([
      { code: "integrity_failed", message: "page 7 is never used" },
    ]);
  });
});
