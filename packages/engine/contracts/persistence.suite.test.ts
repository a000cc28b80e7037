import { afterAll, beforeAll, expect, test } from "vitest";

import { contractSuite, useRig } from "@holdfast/testing/contracts/contract-suite";
import { openObservedRig } from "@holdfast/testing/contracts/contract-rig";
import { endPeers, nearFuture, type Peer, startPeers } from "@holdfast/testing/contracts/peer";
import type { ObservableDatabase } from "@holdfast/testing/contracts/test-database";
import {
  aCommit,
  aDelta,
  aMessageId,
  anOwner,
  aRunState,
  aSettledMessage,
  aToolStart,
  aUsage,
  aUserMessage,
  toSeq,
} from "@holdfast/testing/fixtures/factories";
import {
  assertPresent,
  openTestSession,
  seqsOf,
  textsOf,
} from "@holdfast/testing/fixtures/open-session";

export const persistenceContract = contractSuite<ObservableDatabase>("persistence", (factory) => {
  const rig = useRig(() => openObservedRig(factory));
  let processes: Peer[];
  let threads: Peer[];
  beforeAll(async () => {
    [processes, threads] = await Promise.all([
      startPeers(rig.database, "process", 3),
      startPeers(rig.database, "thread", 2),
    ]);
  });
  afterAll(() => endPeers([...processes, ...threads]));

  const other = () => assertPresent(processes[0]).store;

  test("[S3.1] another process reads a saved session, with its id and its messages", async () => {
    const talk = await openTestSession(rig.store, { title: "Ships" });
    const { runId, under } = await talk.startRun("What floats?");
    await talk.commit([aSettledMessage(runId, "Wood does."), aRunState(runId, "completed")], {
      under,
    });
    const { owner, session } = talk;
    const seen = assertPresent(await other().reads.snapshot(owner, session, { limit: 10 }));
    expect(seen.session).toMatchObject({ id: session, title: "Ships", messageCount: 2 });
    expect(textsOf(seen.entries.entries)).toEqual(["What floats?", "Wood does."]);
  });

  test("[S3.2] another process reads a checkpoint, with the session's id and its messages", async () => {
    const talk = await openTestSession(rig.store);
    const { runId, under } = await talk.startRun("What floats?");
    const messageId = aMessageId();
    await talk.commit([aDelta(runId, "Wood ", messageId)], { under, pace: "tick" });
    await talk.commit([aDelta(runId, "does.", messageId), aUsage(runId)], { under });
    const { owner, session } = talk;
    const seen = assertPresent(await other().reads.snapshot(owner, session, { limit: 10 }));
    expect(seen.session).toMatchObject({ id: session, head: (await talk.row()).head });
    expect(textsOf(seen.entries.entries)).toEqual(["What floats?"]);
    const streamed = seen.journal.filter(({ type }) => type === "message.delta");
    expect(textsOf(streamed)).toEqual(["Wood ", "does."]);
  });

  test("[S3.3] a checkpoint writes nothing to the list and reorders nothing", async () => {
    const owner = anOwner();
    const older = await openTestSession(rig.store, { tags: ["boats"], title: "older" }, owner);
    const { runId, under } = await older.startRun();
    rig.advanceClock(1_000);
    const newer = await openTestSession(rig.store, { tags: ["boats"], title: "newer" }, owner);
    await newer.commit([aUserMessage()]);
    const order = async () =>
      (await rig.store.reads.sessions(owner, { limit: 9 })).sessions.map(({ id }) => id);
    expect(await order()).toEqual([newer.session, older.session]);
    const before = await rig.database.listRows();
    const written = await rig.observe();

    rig.advanceClock(1_000);
    const started = aToolStart(runId);
    await older.commit([aDelta(runId)], { under, pace: "tick" });
    await older.commit([started], { under });
    await older.commit([aDelta(runId), aUsage(runId)], { under });

    expect(await written()).toEqual(rig.database.checkpointTables);
    expect(await rig.database.listRows()).toEqual(before);
    expect(await order()).toEqual([newer.session, older.session]);
    expect((await older.row()).activityAt).toBeGreaterThan((await newer.row()).activityAt);
  });

  test("[S3.4] a full save puts the session at the top of the list", async () => {
    const owner = anOwner();
    const older = await openTestSession(rig.store, {}, owner);
    rig.advanceClock(1_000);
    await openTestSession(rig.store, {}, owner);
    rig.advanceClock(1_000);
    const { runId, under } = await older.startRun("What floats?");
    const done = [aSettledMessage(runId, "Wood does."), aRunState(runId, "completed")];
    const { at: savedAt } = await older.commit(done, { under });
    const { sessions } = await other().reads.sessions(owner, { limit: 1 });
    expect(sessions).toMatchObject([
      { id: older.session, sortAt: savedAt, preview: "Wood does.", messageCount: 2 },
    ]);
  });

  test("[S3.5] checkpoints followed by a full save leave list and content in step", async () => {
    const talk = await openTestSession(rig.store);
    const { runId, under } = await talk.startRun("Count.");
    const deltas = Array.from({ length: 12 }, (_, n) => `${n} `);
    const seqs: number[] = [];
    for (const delta of deltas) {
      const { last } = await talk.commit([aDelta(runId, delta)], { under, pace: "tick" });
      seqs.push(last);
    }
    const ranges = [[assertPresent(seqs[0]), assertPresent(seqs.at(-1))] as const];
    await talk.commit(
      [aSettledMessage(runId, deltas.join(""), ranges), aRunState(runId, "completed")],
      {
        under,
      },
    );
    const listed = assertPresent(
      (await other().reads.sessions(talk.owner, { limit: 1 })).sessions[0],
    );
    const entries = assertPresent(
      await other().reads.entries(talk.owner, talk.session, { limit: 100 }),
    );
    const page = await talk.page();
    expect(listed).toEqual(await talk.row());
    expect(listed).toMatchObject({ head: page.head, openDeltas: 0, liveRun: null });
    expect(listed.messageCount).toBe(entries.entries.length);
    expect(listed.preview).toBe(deltas.join("").trim());
    expect(textsOf(entries.entries)).toEqual(["Count.", deltas.join("")]);
  });

  test("[S3.6] a quiet checkpoint leaves the last activity unchanged", async () => {
    const talk = await openTestSession(rig.store);
    const { runId, under } = await talk.startRun();
    const before = await talk.row();
    rig.advanceClock(60_000);
    await talk.commit([aDelta(runId, "late ")], { under, touch: "quiet" });
    await talk.commit([aUsage(runId)], { under, touch: "quiet" });
    const after = await talk.row();
    expect(after).toEqual({ ...before, head: after.head, openDeltas: 1 });
    expect(after.head).toBe(before.head + 2);
    await talk.commit([aDelta(runId, "now ")], { under });
    expect((await talk.row()).activityAt).toBeGreaterThanOrEqual(before.activityAt + 60_000);
  });

  test("[S3.12] concurrent saves of one session from processes and threads never fail, collide or mix", async () => {
    const { owner, session } = await openTestSession(rig.store);
    const writers = [...processes, ...threads];
    const saves = 20;
    const moment = nearFuture();
    const answers = await Promise.all(
      writers.flatMap((writer, w) => {
        writer.startAt(moment);
        return Array.from({ length: saves }, (_, n) => {
          const lines = ["first", "second", "third"].map((part) => `${w}.${n} ${part}`);
          const events = lines.map((text) => aUserMessage(text));
          return writer.store.commit(aCommit({ owner, session }, events));
        });
      }),
    );
    expect(answers.filter(({ status }) => status !== "committed")).toEqual([]);

    const total = writers.length * saves;
    const page = assertPresent(
      await rig.store.reads.events(owner, session, { after: toSeq(1), limit: 10_000 }),
    );
    expect(seqsOf(page.events)).toEqual(Array.from({ length: total * 3 }, (_, n) => n + 2));
    const texts = textsOf(page.events);
    const wholes = Array.from({ length: total }, (_, n) => texts.slice(3 * n, 3 * n + 3));
    const expected = writers.flatMap((_, w) =>
      Array.from({ length: saves }, (_each, n) => [
        `${w}.${n} first`,
        `${w}.${n} second`,
        `${w}.${n} third`,
      ]),
    );
    expect(wholes.map(String).toSorted()).toEqual(expected.map(String).toSorted());
    const row = assertPresent(await other().reads.session(owner, session));
    expect(row).toMatchObject({ head: 1 + total * 3, messageCount: total * 3, version: total * 3 });
    expect(row.preview).toBe(texts.at(-1));
  });
});
