import { afterAll, beforeAll, expect, test } from "vitest";

import type { NewEvent } from "@holdfast/protocol";
import { contractSuite, useRig } from "@holdfast/testing/contracts/contract-suite";
import { openContractRig } from "@holdfast/testing/contracts/contract-rig";
import { endPeers, nearFuture, type Peer, startPeers } from "@holdfast/testing/contracts/peer";
import type { FailingDatabase } from "@holdfast/testing/contracts/test-database";
import {
  aCommit,
  aCut,
  aDelta,
  aMessageId,
  anEvent,
  aRange,
  aRunState,
  aSession,
  aSettledMessage,
  aUserMessage,
  type SessionRef,
  toFence,
  toSeq,
} from "@holdfast/testing/fixtures/factories";
import { assertPresent, openTestSession, seqsOf } from "@holdfast/testing/fixtures/open-session";

import type { CommitResult } from "../src/ports/commit.ts";

/** The database fails every write that contains this word. */
const poison = "poison";

export const eventOrderContract = contractSuite<FailingDatabase>("seqs", (factory) => {
  const rig = useRig(() => openContractRig(factory));
  let processes: Peer[];
  beforeAll(async () => {
    processes = await startPeers(rig.database, "process", 4);
    await rig.database.failWritesWith(poison);
  });
  afterAll(() => endPeers(processes));

  test("[P2] writers in four processes get dense seqs, whatever is refused or fails in between", async () => {
    const talks = await Promise.all([
      openTestSession(rig.store),
      openTestSession(rig.store),
      openTestSession(rig.store),
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
        await rig.store.reads.events(owner, session, { after: toSeq(0), limit: 9_999 }),
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
    const talk = await openTestSession(rig.store);
    const { runId, under } = await talk.startRun();
    const messageId = aMessageId();
    const first = await talk.commit([aDelta(runId, "a ", messageId)], { under });
    const last = await talk.commit([aDelta(runId, "b", messageId)], { under });
    await talk.commit(
      [aSettledMessage(runId, "a b", [[first.first, last.last]]), aRunState(runId, "completed")],
      { under },
    );
    const seen = new Map((await talk.events()).map(({ seq, id }) => [seq, id]));
    const pruned = await rig.store.prune(1_000);
    expect(pruned).toMatchObject({ status: "pruned", rows: 2 });
    await talk.commit([aCut([aRange(1, 1)])]);
    await talk.commit([anEvent("session.trashed", {})]);
    await talk.commit([anEvent("session.restored", {})]);
    const { head } = await talk.row();

    const again = await rig.database.open();
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
    const talk = await openTestSession(rig.store);
    await talk.commit([anEvent("session.trashed", {})]);
    await rig.store.purge(talk.owner, talk.session);
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
