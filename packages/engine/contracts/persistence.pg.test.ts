import type { Store } from "../src/ports/store.ts";
import {
  aCommit,
  aDelta,
  aMessageId,
  anEvent,
  anOwner,
  aRunState,
  aSettledMessage,
  toSeq,
  aUsage,
  aUserMessage,
} from "@holdfast/testing/fixtures/factories";
import {
  openTestSession,
  assertPresent,
  seqsOf,
  textsOf,
} from "@holdfast/testing/fixtures/open-session";
import { ids, type RunId } from "@holdfast/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { createDatabase } from "@holdfast/testing/postgres/create-database";
import {
  openStoreAt,
  postgresDatabase,
  sqliteDatabase,
  type TestDatabase,
} from "@holdfast/testing/contracts/test-database";
import { type Peer, nearFuture, startPeers } from "@holdfast/testing/contracts/peer";
import {
  recordStatements,
  type StatementRecorder,
  tablesWritten,
} from "@holdfast/testing/contracts/statement-recorder";

function aToolStart(runId: RunId) {
  const names = { callId: ids.make("call"), resultId: aMessageId(), name: "terminal" };
  return anEvent("tool.started", { ...names, input: {}, replay: "never" }, runId);
}

const databases = [sqliteDatabase, postgresDatabase(createDatabase)];

let processes: Peer[];
let threads: Peer[];
beforeAll(async () => {
  [processes, threads] = await Promise.all([startPeers("process", 3), startPeers("thread", 2)]);
});
afterAll(async () => {
  await Promise.all([...processes, ...threads].map((peer) => peer.end()));
});

describe.each(databases)("persistence on $name", ({ create }) => {
  let database: TestDatabase;
  let store: Store;
  let recorder: StatementRecorder | undefined;
  let elapsedMs = 0;
  beforeAll(async () => {
    database = await create();
    const { address } = database;
    if (address.kind === "sqlite") recorder = recordStatements(`${address.file}.statements`);
    const { probeModule } = recorder ?? {};
    store = await openStoreAt(address, {
      clockOffset: () => elapsedMs,
      ...(probeModule && { probeModule }),
    });
    await Promise.all([...processes, ...threads].map((peer) => peer.open(address)));
  });
  afterAll(async () => {
    await store.close();
    await Promise.all([...processes, ...threads].map((peer) => peer.close()));
    await database.drop();
  });

  const other = () => assertPresent(processes[0]).store;

  /** The rows of the list as stored; PostgreSQL's also show whether they were rewritten. */
  function listRows() {
    const again = database.address.kind === "postgres" ? "xmin::text, ctid::text, " : "";
    return Promise.all([
      database.query(`SELECT ${again}* FROM sessions ORDER BY id`),
      database.query(`SELECT ${again}* FROM session_tags ORDER BY tag, shelf`),
    ]);
  }

  test("[S3.1] another process reads a saved session, with its id and its messages", async () => {
    const talk = await openTestSession(store, { title: "Ships" });
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
    const talk = await openTestSession(store);
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
    const older = await openTestSession(store, { tags: ["boats"], title: "older" }, owner);
    const { runId, under } = await older.startRun();
    elapsedMs += 1_000;
    const newer = await openTestSession(store, { tags: ["boats"], title: "newer" }, owner);
    await newer.commit([aUserMessage()]);
    const order = async () =>
      (await store.reads.sessions(owner, { limit: 9 })).sessions.map(({ id }) => id);
    expect(await order()).toEqual([newer.session, older.session]);
    const before = await listRows();
    recorder?.take();

    elapsedMs += 1_000;
    const started = aToolStart(runId);
    await older.commit([aDelta(runId)], { under, pace: "tick" });
    await older.commit([started], { under });
    await older.commit([aDelta(runId), aUsage(runId)], { under });

    const written = tablesWritten(recorder?.take() ?? []);
    expect([...written].toSorted()).toEqual(
      recorder ? ["deltas", "events", "live", "runs", "usage"] : [],
    );
    expect(await listRows()).toEqual(before);
    expect(await order()).toEqual([newer.session, older.session]);
    expect((await older.row()).activityAt).toBeGreaterThan((await newer.row()).activityAt);
  });

  test("[S3.4] a full save puts the session at the top of the list", async () => {
    const owner = anOwner();
    const older = await openTestSession(store, {}, owner);
    elapsedMs += 1_000;
    await openTestSession(store, {}, owner);
    elapsedMs += 1_000;
    const { runId, under } = await older.startRun("What floats?");
    const done = [aSettledMessage(runId, "Wood does."), aRunState(runId, "completed")];
    const { at: savedAt } = await older.commit(done, { under });
    const { sessions } = await other().reads.sessions(owner, { limit: 1 });
    expect(sessions).toMatchObject([
      { id: older.session, sortAt: savedAt, preview: "Wood does.", messageCount: 2 },
    ]);
  });

  test("[S3.5] checkpoints followed by a full save leave list and content in step", async () => {
    const talk = await openTestSession(store);
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
    const talk = await openTestSession(store);
    const { runId, under } = await talk.startRun();
    const before = await talk.row();
    elapsedMs += 60_000;
    await talk.commit([aDelta(runId, "late ")], { under, touch: "quiet" });
    await talk.commit([aUsage(runId)], { under, touch: "quiet" });
    const after = await talk.row();
    expect(after).toEqual({ ...before, head: after.head, openDeltas: 1 });
    expect(after.head).toBe(before.head + 2);
    await talk.commit([aDelta(runId, "now ")], { under });
    expect((await talk.row()).activityAt).toBeGreaterThanOrEqual(before.activityAt + 60_000);
  });

  test("[S3.12] concurrent saves of one session from processes and threads never fail, collide or mix", async () => {
    const { owner, session } = await openTestSession(store);
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
      await store.reads.events(owner, session, { after: toSeq(1), limit: 10_000 }),
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
