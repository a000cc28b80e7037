// A process of the chaos run: it appends and runs turns until it is killed. It reports each acknowledgement at once.
import { readFileSync } from "node:fs";
import { threadId } from "node:worker_threads";

import { branch, type Commit, type CommitResult, createLog, type Store } from "@holdfast/engine";
import {
  aCommit,
  aDelta,
  aHolder,
  aNotice,
  aRunId,
  aRunState,
  aSession,
  aSettledMessage,
  aUserMessage,
} from "@holdfast/testing/fixtures/factories";
import { ids, newEvent, type NewEvent, type RunId } from "@holdfast/protocol";

import { seededRandom } from "@holdfast/testing/simulator/scheduler";
import { writeLine } from "../write-line.ts";
import { openStore, type WriterTask, type WriterMessage } from "./protocol.ts";

const leaseMs = 1_500;

const task = JSON.parse(readFileSync(0, "utf8")) as WriterTask;
const chance = seededRandom(task.seed);
const store: Store = await openStore(task.backend, task.target);
const holder = aHolder({ pid: process.pid, thread: threadId });

const rest = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const print = (message: WriterMessage): void => writeLine(message);

/** Sends until the store has answered; a failed commit is repeated with the same ids. */
async function send(commit: Commit): Promise<CommitResult> {
  const sent = commit.events.map(({ id }) => id);
  print({ word: "sending", commit });
  for (;;) {
    const result = await store.commit(commit);
    if (result.status === "failed") {
      print({ word: "failed", code: result.code });
      continue;
    }
    if (result.status === "refused") print({ word: "refused", code: result.code, ids: sent });
    else {
      const { session, under } = commit;
      const { first, repeated = false } = result;
      print({
        word: "acknowledged",
        session,
        ids: sent,
        first,
        repeated,
        ...(under && { fence: under.fence }),
      });
    }
    return result;
  }
}

async function appendForever(): Promise<never> {
  for (;;) {
    const session = chance.pick(task.shared);
    const events = Array.from({ length: chance.between(1, 3) }, () =>
      aNotice("x".repeat(chance.between(1, 1_000))),
    );
    await send(aCommit({ owner: task.owner, session }, events));
    if (chance.next() < 0.05) await store.prune(20);
    await rest(chance.between(0, 10));
  }
}

/** First settles what the last holder left open. */
async function settleOpenDeltas(
  session: Commit["session"],
  under: Commit["under"],
): Promise<boolean> {
  const snapshot = await store.reads.snapshot(task.owner, session, { limit: 1 });
  if (snapshot?.run === null || snapshot === null) return true;
  const { id } = snapshot.run;
  const deltas = snapshot.journal.filter(({ type }) => type === "message.delta");
  const ranges = deltas.map(({ seq }) => [seq, seq] as const);
  const settled = ranges.length === 0 ? [] : [aSettledMessage(id, "what there was", ranges)];
  const result = await commitUnder(session, under, [...settled, aRunState(id, "interrupted")]);
  if (result) print({ word: "took over" });
  return result;
}

async function commitUnder(
  session: Commit["session"],
  under: Commit["under"],
  events: readonly NewEvent[],
  pace: Commit["pace"] = "now",
): Promise<boolean> {
  const result = await send({
    owner: task.owner,
    session,
    events,
    pace,
    ...(under && { under }),
  });
  return result.status === "committed";
}

/** One turn with streamed output, as long as the lease is held. */
async function runTurn(session: Commit["session"]): Promise<void> {
  const taken = await store.leases.acquire({ kind: "run", session, holder, ttlMs: leaseMs });
  if (taken.status !== "acquired") {
    return rest(chance.between(5, 50));
  }
  const { fence } = taken.lease;
  const under = { lease: "run", fence } as const;
  if (!(await settleOpenDeltas(session, under))) return;
  const runId: RunId = aRunId();
  const start = [
    aRunState(runId, "claimed"),
    aUserMessage("Hello", undefined, runId),
    aRunState(runId, "running"),
  ];
  if (!(await commitUnder(session, under, start))) return;
  for (let tick = chance.between(1, 12); tick > 0; tick -= 1) {
    if (!(await commitUnder(session, under, [aDelta(runId)], "tick"))) return;
    await store.leases.renew([{ kind: "run", session, fence }], leaseMs);
  }
  const snapshot = await store.reads.snapshot(task.owner, session, { limit: 1 });
  const ranges = (snapshot?.journal ?? [])
    .filter(({ type }) => type === "message.delta")
    .map(({ seq }) => [seq, seq] as const);
  const end = [aSettledMessage(runId, "Well said.", ranges), aRunState(runId, "completed")];
  if (await commitUnder(session, under, end))
    await store.leases.release({ kind: "run", session, fence });
}

const deps = { log: createLog(store), ids };

/** A moment between the branches' reads and their commits. */
async function purgeSoon(session: Commit["session"]): Promise<void> {
  await rest(chance.between(0, 6));
  const trashed = newEvent(ids.make("event"), "session.trashed", {});
  await send(aCommit({ owner: task.owner, session }, [trashed]));
  await rest(chance.between(0, 4));
  const result = await store.purge(task.owner, session);
  if (result.status === "purged") print({ word: "purged", session });
}

async function branchOff(origin: Commit["session"], texts: readonly string[]): Promise<void> {
  await rest(chance.between(0, 20));
  const session = ids.make("session");
  const result = await branch(deps, { owner: task.owner, session: origin }, { session });
  if (result.status === "branched") return print({ word: "branched", session, texts });
  if (result.status === "refused")
    print({ word: "refused", code: `branch: ${result.code}`, ids: [] });
}

/** A conversation that is branched twice while somebody purges it. */
async function branchAndPurge(): Promise<void> {
  const texts = Array.from({ length: chance.between(1, 3) }, (_, n) => `message ${n}`);
  const created = aSession({}, task.owner, ...texts.map((text) => aUserMessage(text)));
  const made = await send(created);
  if (made.status !== "committed") return;
  const { session } = created;
  await Promise.all([branchOff(session, texts), branchOff(session, texts), purgeSoon(session)]);
}

async function branchForever(): Promise<never> {
  for (;;) {
    await branchAndPurge();
    await rest(chance.between(10, 60));
  }
}

async function runForever(): Promise<never> {
  for (;;) await runTurn(chance.pick(task.contested));
}

if (task.task === "warm up") await store.close();
else {
  for (const commit of task.unanswered) await send(commit);
  print({ word: "ready" });
  await Promise.all([
    appendForever(),
    appendForever(),
    appendForever(),
    runForever(),
    branchForever(),
  ]);
}
