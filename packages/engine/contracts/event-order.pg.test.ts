import type { CommitResult } from "../src/ports/commit.ts";
import type { Store } from "../src/ports/store.ts";
import {
  aCommit,
  aCut,
  aDelta,
  toFence,
  aMessageId,
  anEvent,
  aRange,
  aRunState,
  aSession,
  aSettledMessage,
  toSeq,
  aUserMessage,
  type SessionRef,
} from "@holdfast/testing/fixtures/factories";
import { openTestSession, assertPresent, seqsOf } from "@holdfast/testing/fixtures/open-session";
import type { NewEvent } from "@holdfast/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { createDatabase } from "@holdfast/testing/postgres/create-database";
import {
  openStoreAt,
  postgresDatabase,
  sqliteDatabase,
  type TestDatabase,
} from "@holdfast/testing/contracts/test-database";
import { type Peer, nearFuture, startPeers } from "@holdfast/testing/contracts/peer";

const databases = [sqliteDatabase, postgresDatabase(createDatabase)];

/** The database itself fails a write that contains this word, as a full disk or a broken page would. */
const poison = "poison";
const failingTrigger = {
  sqlite: [
    `CREATE TRIGGER fail_poison BEFORE INSERT ON events WHEN NEW.data LIKE '%${poison}%'
       BEGIN SELECT RAISE(ABORT, 'poisoned'); END`,
  ],
  postgres: [
    `CREATE FUNCTION fail_poison() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN RAISE EXCEPTION 'poisoned'; END $$`,
    `CREATE TRIGGER fail_poison BEFORE INSERT ON events FOR EACH ROW
       WHEN (NEW.data LIKE '%${poison}%') EXECUTE FUNCTION fail_poison()`,
  ],
};

let processes: Peer[];
beforeAll(async () => {
  processes = await startPeers("process", 4);
});
afterAll(async () => {
  await Promise.all(processes.map((peer) => peer.end()));
});

describe.each(databases)("seqs on $name", ({ name, create }) => {
  let database: TestDatabase;
  let store: Store;
  beforeAll(async () => {
    database = await create();
    store = await openStoreAt(database.address);
    for (const statement of failingTrigger[name]) await database.query(statement);
    await Promise.all(processes.map((peer) => peer.open(database.address)));
  });
  afterAll(async () => {
    await store.close();
    await Promise.all(processes.map((peer) => peer.close()));
    await database.drop();
  });

  test("[P2] writers in four processes get dense seqs, whatever is refused or fails in between", async () => {
    const talks = await Promise.all([
      openTestSession(store),
      openTestSession(store),
      openTestSession(store),
    ]);
    const moment = nearFuture();
    const sent = processes.flatMap((writer) => {
      writer.startAt(moment);
      return Array.from({ length: 45 }, (_, n) => {
        const attempt = attemptOf(assertPresent(talks[n % talks.length]), n);
        return { ...attempt, answer: writer.store.commit(attempt.commit) };
      });
    });
    const results = await Promise.all(
      sent.map(async (write) => ({ ...write, answer: await write.answer })),
    );
    for (const { answer, outcome } of results) expect(answer.status).toBe(outcome);

    for (const { owner, session } of talks) {
      const page = assertPresent(
        await store.reads.events(owner, session, { after: toSeq(0), limit: 9_999 }),
      );
      expect(seqsOf(page.events)).toEqual(Array.from({ length: page.head }, (_, n) => n + 1));
      const placed = new Map<number, string>();
      for (const { commit, answer } of results) {
        if (commit.session !== session || answer.status !== "committed") continue;
        expect(answer.last - answer.first).toBe(commit.events.length - 1);
        for (const [n, event] of commit.events.entries()) placed.set(answer.first + n, event.id);
      }
      expect(placed.size).toBe(page.head - 1);
      for (const { seq, id } of page.events.slice(1)) expect(placed.get(seq)).toBe(id);
    }
  });

  test("[P2] a seq is never reused after undo, pruning, trash and a restart", async () => {
    const talk = await openTestSession(store);
    const { runId, under } = await talk.startRun();
    const messageId = aMessageId();
    const first = await talk.commit([aDelta(runId, "a ", messageId)], { under });
    const last = await talk.commit([aDelta(runId, "b", messageId)], { under });
    await talk.commit(
      [aSettledMessage(runId, "a b", [[first.first, last.last]]), aRunState(runId, "completed")],
      { under },
    );
    const seen = new Map((await talk.events()).map(({ seq, id }) => [seq, id]));
    const pruned = await store.prune(1_000);
    expect(pruned).toMatchObject({ status: "pruned", rows: 2 });
    await talk.commit([aCut([aRange(1, 1)])]);
    await talk.commit([anEvent("session.trashed", {})]);
    await talk.commit([anEvent("session.restored", {})]);
    const { head } = await talk.row();

    const again = await openStoreAt(database.address);
    try {
      const next = await talk.through(again).commit([aUserMessage("and on")]);
      expect(next.first).toBe(head + 1);
      for (const { seq, id } of await talk.events()) expect(seen.get(seq) ?? id).toBe(id);
      expect(seqsOf(await talk.events({ after: last.last }))).toEqual(
        Array.from({ length: head + 1 - last.last }, (_, n) => last.last + n + 1),
      );
    } finally {
      await again.close();
    }
  });

  test("[P2] the seqs of a purged session are never reused: its id stays taken", async () => {
    const talk = await openTestSession(store);
    await talk.commit([anEvent("session.trashed", {})]);
    await store.purge(talk.owner, talk.session);
    const created = { ...aSession(), owner: talk.owner, session: talk.session };
    const answer = await assertPresent(processes[0]).store.commit(created);
    expect(answer).toMatchObject({ status: "refused", code: "session_exists" });
  });
});

interface Attempt {
  readonly commit: ReturnType<typeof aCommit>;
  readonly outcome: CommitResult["status"];
}

/** Of five: three that succeed, with one to three events; one that is refused and one that fails after a good start. */
function attemptOf(session: SessionRef, n: number): Attempt {
  const say = (count: number): NewEvent[] =>
    Array.from({ length: count }, (_, part) => aUserMessage(`${n}.${part}`));
  const refusals = [
    { under: { lease: "run", fence: toFence(7) } },
    { expect: { head: toSeq(1_000_000) } },
    { expect: { revision: 99 } },
  ] as const;
  switch (n % 5) {
    case 3:
      return { commit: aCommit(session, say(2), refusals[n % 3]), outcome: "refused" };
    case 4:
      return { commit: aCommit(session, [...say(2), aUserMessage(poison)]), outcome: "failed" };
    default:
      return { commit: aCommit(session, say(1 + (n % 3))), outcome: "committed" };
  }
}
