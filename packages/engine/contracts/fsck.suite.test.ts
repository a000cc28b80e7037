import { expect, test } from "vitest";

import { contractSuite, useRig } from "@holdfast/testing/contracts/contract-suite";
import { openContractRig } from "@holdfast/testing/contracts/contract-rig";
import type { Damage, DamageableDatabase } from "@holdfast/testing/contracts/test-database";
import { openFullSession } from "@holdfast/testing/fixtures/damaged-audit";
import { aLane, anEvent, aRange, aUserMessage, toSeq } from "@holdfast/testing/fixtures/factories";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";

import type { FsckMode } from "../src/fsck/check-session.ts";
import { type FindingCode, fsckExit } from "../src/fsck/findings.ts";
import { runFsck } from "../src/fsck/fsck.ts";

interface FoundDamage {
  readonly what: Damage;
  readonly found: readonly `${string} ${FindingCode}`[];
}

const damagedRows: readonly FoundDamage[] = [
  { what: "a title that nobody set", found: ["sessions row_differs"] },
  { what: "a run in another state", found: ["runs row_differs"] },
  { what: "a missing input", found: ["inputs row_missing"] },
  { what: "a missing cost", found: ["usage row_missing"] },
  { what: "a cost that never occurred", found: ["usage row_extra"] },
  { what: "a missing lane", found: ["lanes lane_differs"] },
  { what: "miscounted references to a blob", found: ["blobs blob_refs_differ"] },
];

const beyondRepair: readonly FoundDamage[] = [
  { what: "a head below the log", found: ["sessions head_differs"] },
  { what: "a missing event", found: ["events chain_broken", "events number_missing"] },
  { what: "a changed payload", found: ["events chain_broken", "events event_unreadable"] },
  { what: "a changed payload whose checksum fits", found: ["events chain_broken"] },
  { what: "an event with another time", found: ["events chain_broken"] },
  { what: "an event without its link", found: ["events chain_broken"] },
  {
    what: "an event that its own schema refuses",
    found: ["events chain_broken", "events event_invalid"],
  },
  { what: "a seq issued twice", found: ["events number_missing", "events number_repeated"] },
  { what: "a blob whose bytes have changed", found: ["blobs blob_damaged"] },
  { what: "a lease that never ends", found: ["leases lease_unsound"] },
  { what: "a row of a missing session", found: ["fences row_orphaned"] },
];

export const fsckContract = contractSuite<DamageableDatabase>("fsck", (factory) => {
  const rig = useRig(() => openContractRig(factory));
  type Rig = Pick<typeof rig, "store" | "database">;

  const check = async ({ store }: Pick<Rig, "store">, mode: FsckMode = "check") =>
    runFsck(store.audit, { mode, now: await store.now() });

  /** The kinds of findings. */
  async function findingsIn(checked: Rig): Promise<readonly string[]> {
    const { found } = await check(checked);
    return [...new Set(found.map(({ table, code }) => `${table} ${code}`))].toSorted();
  }

  /** A session with every kind of data. */
  async function fullSession({ store }: Pick<Rig, "store">) {
    const lane = aLane();
    const { chat } = await openFullSession(store, lane);
    const { owner, session } = chat;
    return { chat, rows: { owner, session, lane } };
  }

  test("[P14] a store with every kind of data is sound, and all of it was checked", async () => {
    const { chat } = await fullSession(rig);
    const branch = { sessionId: chat.session, seq: toSeq(3) };
    const left = await openTestSession(
      rig.store,
      { origin: branch, ranges: [aRange(1, 3, chat.session)] },
      chat.owner,
    );
    await left.commit([aUserMessage("on its own")]);
    const gone = await openTestSession(rig.store);
    await gone.commit([anEvent("session.trashed", {})]);
    expect(await rig.store.purge(gone.owner, gone.session)).toMatchObject({ status: "purged" });

    const { found, exitCode, unproven, sessions, events } = await check(rig);
    expect({ found, exitCode, unproven }).toEqual({ found: [], exitCode: 0, unproven: [] });
    expect(sessions).toBe(await rig.database.count("sessions"));
    expect(events).toBe(await rig.database.count("events"));
  });

  test.each(damagedRows)(
    "[P14] fsck finds $what and repairs it from the log",
    async ({ what, found }) => {
      await rig.database.damage(what, (await fullSession(rig)).rows);
      expect(await findingsIn(rig)).toEqual(found);
      const rebuilt = await check(rig, "rebuild");
      expect(rebuilt).toMatchObject({ exitCode: fsckExit.repaired, findings: rebuilt.repaired });
      expect(await findingsIn(rig)).toEqual([]);
    },
  );

  test("[P14] the rebuilt rows equal the rows stored before", async () => {
    const { chat, rows } = await fullSession(rig);
    const before = await rig.store.audit.derived(chat.session);
    await rig.database.damage("missing runs", rows);
    await rig.database.damage("another preview and message count", rows);
    await check(rig, "rebuild");
    expect(await rig.store.audit.derived(chat.session)).toEqual(before);
    expect(await findingsIn(rig)).toEqual([]);
  });

  test("[P14] fsck finds a branch whose origin has lost its rows, and says what to do", async () => {
    await using own = await openContractRig(factory);
    const chat = await openTestSession(own.store);
    await chat.commit([aUserMessage("one"), aUserMessage("two"), aUserMessage("three")]);
    const { owner, session } = chat;
    const origin = { sessionId: chat.session, seq: toSeq(3) };
    const ranges = [aRange(1, 3, chat.session), aRange(4)];
    const left = await openTestSession(own.store, { origin, ranges }, chat.owner);
    await chat.commit([anEvent("session.trashed", {})]);
    expect(await own.store.purge(chat.owner, chat.session)).toMatchObject({ status: "purged" });
    expect((await check(own)).found).toEqual([]);
    await own.database.damage("a purged log without its rows", { owner, session, lane: aLane() });
    const { found, exitCode } = await check(own, "rebuild");
    expect(exitCode).toBe(fsckExit.damaged);
    expect(found).toMatchObject([{ code: "origin_missing", session: left.session }]);
    expect(found[0]?.message).toMatch(/Restore a backup .* or delete the branch/);
    await left.commit([anEvent("session.trashed", {})]);
    await own.store.purge(left.owner, left.session);
    expect((await check(own)).found).toEqual([]);
  });

  test.each(beyondRepair)(
    "[P14] fsck finds $what and leaves it for a person to decide",
    async ({ what, found }) => {
      await using own = await openContractRig(factory);
      await own.database.damage(what, (await fullSession(own)).rows);
      expect(await findingsIn(own)).toEqual(found);
      expect((await check(own, "rebuild")).exitCode).toBe(fsckExit.damaged);
      expect(await findingsIn(own)).toEqual(found);
    },
  );
});
