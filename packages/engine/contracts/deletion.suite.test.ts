import { expect, test } from "vitest";

import { type BlobId, ids } from "@holdfast/protocol";
import { contractSuite, useRig } from "@holdfast/testing/contracts/contract-suite";
import { fsckFindings } from "@holdfast/testing/conformance/harness";
import { openContractRig } from "@holdfast/testing/contracts/contract-rig";
import type { InspectableDatabase } from "@holdfast/testing/contracts/test-database";
import { watchStore } from "@holdfast/testing/contracts/wrapped-stores";
import { nextTurn } from "@holdfast/testing/fakes/manual-clock";
import { openFullSession } from "@holdfast/testing/fixtures/damaged-audit";
import {
  aCommit,
  aCut,
  aFile,
  aHolder,
  aLane,
  anEvent,
  anInput,
  anOwner,
  aRange,
  aRunState,
  aSession,
  aSettledMessage,
  aUserMessage,
  toSeq,
} from "@holdfast/testing/fixtures/factories";
import {
  assertPresent,
  openTestSession,
  textsOf,
  type TestSession,
} from "@holdfast/testing/fixtures/open-session";

import { branch as branchOff } from "../src/history/branch.ts";
import { createLog } from "../src/log/log.ts";

const trashed = () => anEvent("session.trashed", {});
const restored = () => anEvent("session.restored", {});
const day = 24 * 60 * 60 * 1000;

export const deletionContract = contractSuite<InspectableDatabase>("deletion", (factory) => {
  const rig = useRig(() => openContractRig(factory));

  /** Everything readable of a session, except deltas that an entry has settled: they may be pruned at any time. */
  async function everything(
    { owner, session }: Pick<TestSession, "owner" | "session">,
    blob?: BlobId,
  ) {
    const { reads } = rig.store;
    const page = assertPresent(
      await reads.events(owner, session, { after: toSeq(0), limit: 10_000 }),
    );
    return {
      row: await reads.session(owner, session),
      events: page.events,
      snapshot: await reads.snapshot(owner, session, { limit: 1_000 }),
      usage: await reads.usage(owner, { session }),
      blob: blob && (await reads.blob(owner, blob)),
    };
  }

  test("[P13] trash is not deletion: everything stays readable, and a restore brings it back", async () => {
    const lane = aLane();
    const { chat, blob } = await openFullSession(rig.store, lane);
    const before = await everything(chat, blob);
    await chat.commit([trashed()]);
    expect((await chat.events()).slice(0, -1)).toEqual(before.events);
    const shelf = async (name: "active" | "trash") =>
      (await rig.store.reads.sessions(chat.owner, { shelf: name, limit: 9 })).sessions.map(
        ({ id }) => id,
      );
    expect([await shelf("active"), await shelf("trash")]).toEqual([[], [chat.session]]);

    await chat.commit([restored()]);
    expect([await shelf("active"), await shelf("trash")]).toEqual([[chat.session], []]);
    const after = await everything(chat, blob);
    expect(after.events.slice(0, -2)).toEqual(before.events);
    expect(after.blob).toEqual(before.blob);
    expect(after.usage).toEqual(before.usage);
    expect(after.snapshot?.entries).toEqual(before.snapshot?.entries);
    expect(await rig.store.reads.lane(chat.owner, lane)).toBe(chat.session);
  });

  test("[P13] late writes to a trashed session are refused, under any fence", async () => {
    const chat = await openTestSession(rig.store);
    const { runId, under } = await chat.startRun();
    await chat.commit([trashed()]);
    const done = [aSettledMessage(runId), aRunState(runId, "completed")];
    await chat.refuses("session_trashed", done, { under });
    await chat.refuses("session_trashed", [aUserMessage()]);
    await chat.refuses("session_trashed", [anInput()]);
    const { session } = chat;
    const request = { kind: "run", session, holder: aHolder(), ttlMs: 1_000 } as const;
    expect(await rig.store.leases.acquire(request)).toMatchObject({ status: "refused" });

    await chat.commit([restored()]);
    await chat.refuses("fenced", done, { under });
    expect((await chat.lease()).fence).toBeGreaterThan(under.fence);
  });

  test("[P13] only a session in its owner's trash can be purged, and the purge is recorded", async () => {
    const { chat } = await openFullSession(rig.store, aLane());
    const { owner, session } = chat;
    const neighbour = await openFullSession(rig.store, aLane());
    const untouched = await everything(neighbour.chat, neighbour.blob);
    const before = await everything(chat);
    const refused = (code: string) => ({ status: "refused", code });
    expect(await rig.store.purge(owner, session)).toEqual(refused("session_not_trashed"));
    expect(await everything(chat)).toEqual(before);
    await chat.commit([trashed()]);
    expect(await rig.store.purge(anOwner(), session)).toEqual(refused("session_not_found"));
    expect((await chat.events()).slice(0, -1)).toEqual(before.events);

    expect(await rig.store.purge(owner, session)).toMatchObject({ status: "purged" });
    expect(await rig.store.reads.session(owner, session)).toBeNull();
    expect(await rig.store.reads.events(owner, session, { after: toSeq(0), limit: 9 })).toBeNull();
    const late = await rig.store.commit(aCommit(chat, [aUserMessage()]));
    expect(late).toMatchObject(refused("session_not_found"));
    const again = await rig.store.commit({ ...aSession(), owner, session });
    expect(again).toMatchObject(refused("session_exists"));
    const purges: unknown[] = [];
    for await (const purge of rig.store.audit.purges()) purges.push(purge);
    expect(purges).toContainEqual(expect.objectContaining({ owner, session }));
    expect(await rig.store.reads.usage(owner, { session })).toEqual(before.usage);
    expect(await everything(neighbour.chat, neighbour.blob)).toEqual(untouched);
  });

  test("[P13] purging an origin leaves what its branch reads", async () => {
    const origin = await openTestSession(rig.store);
    await origin.commit([aUserMessage("one"), aUserMessage("two"), aUserMessage("three")]);
    const branch = await openTestSession(
      rig.store,
      {
        origin: { sessionId: origin.session, seq: toSeq(3) },
        ranges: [aRange(1, 3, origin.session), aRange(4)],
      },
      origin.owner,
    );
    await branch.commit([aUserMessage("four")]);
    const before = await branch.entries();
    expect(before).toHaveLength(3);
    await origin.commit([trashed()]);
    await rig.store.purge(origin.owner, origin.session);
    await pruneAll();
    expect(await branch.entries()).toEqual(before);
  });

  test("[P13] a branch whose origin is purged between its read and its commit is refused, not made empty", async () => {
    const origin = await openTestSession(rig.store);
    await origin.commit([aUserMessage("one"), aUserMessage("two")]);
    const watched = watchStore(rig.store);
    const held = watched.holdNext("session.created");
    const session = ids.make("session");
    const branching = branchOff({ log: createLog(watched.store), ids }, origin, { session });
    await held.reached;
    await origin.commit([trashed()]);
    expect(await rig.store.purge(origin.owner, origin.session)).toMatchObject({ status: "purged" });
    held.release();
    expect(await branching).toMatchObject({ status: "refused", code: "session_not_found" });
    expect(await rig.store.reads.session(origin.owner, session)).toBeNull();
    expect(await fsckFindings(rig.store)).toEqual([]);
  });

  test("[P13] a branch made during a purge either keeps every word or is refused", async () => {
    const elsewhere = await rig.database.open();
    const seen = new Set<string>();
    for (let race = 0; race < 20; race += 1) {
      const origin = await openTestSession(rig.store);
      await origin.commit([aUserMessage("one"), aUserMessage("two"), trashed()]);
      const session = ids.make("session");
      const [branched, purged] = await Promise.all([
        branchOff({ log: rig.log, ids }, origin, { session }),
        race % 2 === 0
          ? elsewhere.purge(origin.owner, origin.session)
          : nextTurn().then(() => elsewhere.purge(origin.owner, origin.session)),
      ]);
      expect(purged.status).toBe("purged");
      const page = await rig.store.reads.entries(origin.owner, session, { limit: 9 });
      const read = page === null ? "no branch" : textsOf(page.entries).join(" ");
      seen.add(`${branched.status}: ${read}`);
    }
    await elsewhere.close();
    expect(["branched: one two", "refused: no branch"]).toEqual(expect.arrayContaining([...seen]));
    expect(await fsckFindings(rig.store)).toEqual([]);
  });

  test("[P13] pruning removes nothing that can be read", async () => {
    const full = await openFullSession(rig.store, aLane());
    const inTrash = await openFullSession(rig.store, aLane());
    await inTrash.chat.commit([trashed()]);
    const both = async () => [
      await everything(full.chat, full.blob),
      await everything(inTrash.chat, inTrash.blob),
    ];
    const before = await both();
    const orphan = await rig.store.putBlob(full.chat.owner, new Uint8Array([1, 2, 3]), "image/png");
    const id = assertPresent(orphan.status === "stored" ? orphan.id : null);
    rig.advanceClock(day / 2);
    await pruneAll();
    expect(await rig.store.reads.blob(full.chat.owner, id)).not.toBeNull();
    // A blob that an event references is never collected, however old it is.
    rig.advanceClock(30 * day);
    await pruneAll();
    expect(await rig.store.reads.blob(full.chat.owner, id)).toBeNull();
    expect(await both()).toEqual(before);
    expect(await rig.store.prune(100)).toEqual({ status: "pruned", rows: 0 });
  });

  test("[P13] only a purge removes events", async () => {
    const chat = await openTestSession(rig.store);
    const blob = await rig.store.putBlob(chat.owner, new Uint8Array([7]), "image/png");
    const file = aFile(assertPresent(blob.status === "stored" ? blob.id : null));
    const acts: (() => Promise<unknown>)[] = [
      () => chat.commit([anInput({ attachments: [file] })]),
      () => chat.commit([aUserMessage("one"), aUserMessage("two")]),
      () => chat.commit([aCut([aRange(1, 2)])]),
      () => chat.commit([anEvent("session.changed", { archived: true, title: "x" })]),
      () => chat.commit([compaction()], { expect: { epoch: 0 } }),
      () => chat.commit([trashed()]),
      () => chat.commit([restored()]),
      () => pruneAll(),
      () => rig.store.search.rebuild(),
      () => fsckFindings(rig.store),
    ];
    let kept: ReadonlySet<string> = new Set();
    for (const act of acts) {
      await act();
      const now = await rig.database.storedEventIds();
      expect([...kept].filter((id) => !now.has(id))).toEqual([]);
      kept = now;
    }
    expect(await fsckFindings(rig.store)).toEqual([]);
  });

  function compaction() {
    const covers = { from: toSeq(1), to: toSeq(1) };
    return anEvent("context.compacted", { epoch: 1, covers, summary: "Little was said." });
  }

  async function pruneAll(): Promise<void> {
    for (;;) {
      const result = await rig.store.prune(7);
      if (result.status !== "pruned" || result.rows === 0) return;
    }
  }
});
