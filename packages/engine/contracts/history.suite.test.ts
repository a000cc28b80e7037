import { afterAll, beforeAll, expect, test } from "vitest";

import {
  decodeEvent,
  ids,
  type MessageId,
  roleOf,
  type RunId,
  type Seq,
  type StoredEvent,
} from "@holdfast/protocol";
import { contractSuite, useRig } from "@holdfast/testing/contracts/contract-suite";
import { fsckFindings } from "@holdfast/testing/conformance/harness";
import { openContractRig } from "@holdfast/testing/contracts/contract-rig";
import { withMembers } from "@holdfast/testing/contracts/wrapped-stores";
import { nextTurn } from "@holdfast/testing/fakes/manual-clock";
import { gate, says, type Script, scriptedModel } from "@holdfast/testing/fakes/scripted-model";
import { aFile, aHolder, anEvent } from "@holdfast/testing/fixtures/factories";
import { assertPresent, textsOf } from "@holdfast/testing/fixtures/open-session";
import { openRunRig, until, untilStreamed } from "@holdfast/testing/rigs/run-rig";

import { clear, truncate } from "../src/history/cut.ts";
import { undo } from "../src/history/undo.ts";
import { interruptThen } from "../src/history/interrupt.ts";
import { retry } from "../src/history/retry.ts";
import { restore, trash } from "../src/history/trash.ts";
import { inputNamedBy } from "../src/log/commit-fold.ts";
import { emptySession } from "../src/log/decide.ts";
import { foldInput, foldRun, foldSessionRow } from "../src/log/fold-rows.ts";
import { systemClock } from "../src/ports/clock.ts";
import type { Snapshot } from "../src/ports/reads.ts";
import type { InputRow, RunRow, SessionRow } from "../src/ports/rows.ts";
import type { Store } from "../src/ports/store.ts";
import { requestCancel } from "../src/run/cancel.ts";

const messagesIn = (entries: readonly StoredEvent[]) =>
  entries.filter(({ type }) => type === "message.user" || type === "message.assistant");

/** What a snapshot shows, except for what streams. */
function contentsOf({ session, entries, inbox, run }: Snapshot) {
  const { head, version, revision, title, preview, messageCount, ranges } = session;
  return {
    head,
    session: { version, revision, title, preview, messageCount, ranges },
    entries: entries.entries,
    inbox: inbox.map(({ messageId, content }) => ({ messageId, content })),
    run: run && { id: run.id, state: run.state, cancelRequested: run.cancelRequested },
  };
}

/** The session as the log describes it at this head. */
function stateAt(log: readonly StoredEvent[], { owner, id, head, createdAt }: SessionRow) {
  const before = log.filter(({ seq }) => seq <= head);
  let session = emptySession({ owner, session: id }, assertPresent(before[0]), createdAt);
  const runs = new Map<RunId, RunRow>();
  const inputs = new Map<MessageId, InputRow>();
  for (const event of before) {
    const decoded = decodeEvent(event);
    if (decoded.kind !== "known" || roleOf(event) === "delta") continue;
    const known = decoded.event;
    const runId = known.type === "input.accepted" ? known.data.runId : known.runId;
    const run = runId && foldRun(runs.get(runId), known, session);
    if (runId && run) runs.set(runId, run);
    const messageId = inputNamedBy(known);
    const input = messageId && foldInput(inputs.get(messageId), known, session);
    if (messageId && input) inputs.set(messageId, input);
    session = foldSessionRow(session, decoded);
  }
  const isVisible = ({ seq }: StoredEvent) =>
    session.ranges.some(({ from, to }) => seq >= from && seq <= (to ?? Infinity));
  return contentsOf({
    session: { ...session, head },
    entries: {
      entries: before.filter((event) => roleOf(event) === "entry" && isVisible(event)),
      more: false,
    },
    inbox: [...inputs.values()].filter(({ state }) => state === "queued"),
    run: session.liveRun && (runs.get(session.liveRun) ?? null),
    journal: [],
  });
}

export const historyContract = contractSuite("history", (factory) => {
  const contractRig = useRig(() => openContractRig(factory));
  let elsewhere: Store;
  beforeAll(async () => {
    elsewhere = await contractRig.database.open();
  });
  afterAll(() => elsewhere.close());

  /** A session whose run has streamed half of its answer, and continues when told to. */
  async function streamingSession() {
    const resume = Promise.withResolvers<void>();
    const script: Script = (_request, before) =>
      before === 0 ? [says("Half"), gate(resume.promise), says(" more")] : says("Again");
    const rig = await openRunRig(contractRig.store, {
      model: scriptedModel(script),
      clock: systemClock,
    });
    const { runId } = await rig.say("Question");
    rig.runner.notify(rig.chat.owner, rig.chat.session);
    await untilStreamed(rig, "Half");
    const { owner, session } = rig.chat;
    const target = { owner, session };
    const deps = {
      log: rig.log,
      ids,
      clock: systemClock,
      holder: () => aHolder(),
      runner: rig.runner,
    };
    return { rig, chat: rig.chat, runId, target, deps, resume: resume.resolve };
  }

  test("[S3.21] a second client's cut is refused during a run, or interrupts it, and the runner brings nothing back", async () => {
    const { rig, chat, deps, target, runId, resume } = await streamingSession();
    const refused = { status: "refused", code: "run_live" };
    const from = (await chat.entries())[0]?.seq ?? (0 as Seq);
    expect(await undo(deps, target)).toMatchObject(refused);
    expect(await truncate(deps, target, from)).toMatchObject(refused);
    expect(await retry(deps, target, { clientId: "again" })).toMatchObject(refused);
    const cut = await interruptThen(deps, target, (at) => undo(deps, at));
    expect(cut).toMatchObject({ status: "committed" });
    resume();
    await rig.runner.idle();
    expect(await chat.entries()).toEqual([]);
    expect((await rig.run(runId)).state).toBe("cancelled");
    expect(await contractRig.store.leases.read("history", chat.session)).toBeNull();
  });

  test("[P6] a cancel through another handle on the store ends the run and keeps its output", async () => {
    const { rig, chat, runId } = await streamingSession();
    const other = { ...rig.log, store: elsewhere, commit: elsewhere.commit.bind(elsewhere) };
    expect(await requestCancel(other, ids, chat.owner, runId)).toEqual({ status: "requested" });
    rig.runner.start();
    await rig.runner.idle();
    await rig.runner.stop();
    expect((await rig.run(runId)).state).toBe("cancelled");
    expect(textsOf(messagesIn(await chat.entries()))).toEqual(["Question", "Half"]);
  });

  test("[S3.15] [S3.16] readers that poll throughout see the run with everything that belongs to it, or nothing of it", async () => {
    const { rig, chat, deps, target, runId } = await streamingSession();
    await rig.say("Waits", { mode: "queue" });
    const seen = new Set<string>();
    const snapshots = new Map<string, Snapshot>();
    const over = new AbortController();
    async function poll(reader: Store): Promise<void> {
      while (!over.signal.aborted) {
        await nextTurn();
        const snapshot = assertPresent(
          await reader.reads.snapshot(chat.owner, chat.session, { limit: 20 }),
        );
        const { session, run, journal, entries } = snapshot;
        snapshots.set(JSON.stringify(contentsOf(snapshot)), snapshot);
        const isLive = session.liveRun !== null;
        // The row, the run, the journal and the entries are of one instant.
        const texts = textsOf(messagesIn(entries.entries));
        const agrees =
          isLive === (run !== null) &&
          (isLive || (journal.length === 0 && session.openDeltas === 0)) &&
          session.messageCount === messagesIn(entries.entries).length;
        seen.add(agrees ? "one instant" : JSON.stringify({ session, run, texts }));
      }
    }
    const readers = [poll(contractRig.store), poll(elsewhere)];
    const renamed = Array.from({ length: 10 }, (_, n) =>
      chat.commit([anEvent("session.changed", { title: `Title ${n}` })]),
    );
    const retried = await interruptThen(deps, target, (at) =>
      retry(deps, at, { clientId: "retry" }),
    );
    expect(retried).toMatchObject({ status: "accepted" });
    await Promise.all(renamed);
    await rig.work();
    expect(await undo(deps, target)).toMatchObject({ status: "committed" });
    over.abort();
    await Promise.all(readers);
    expect([...seen]).toEqual(["one instant"]);
    const log = await chat.events();
    for (const snapshot of snapshots.values())
      expect(contentsOf(snapshot)).toEqual(stateAt(log, snapshot.session));
    expect((await rig.run(runId)).state).toBe("cancelled");
    expect(await fsckFindings(contractRig.store)).toEqual([]);
  });

  test("[S3.16] cancelling a queued message takes it out of the inbox with its attachments, at once", async () => {
    const { rig, chat, runId, resume } = await streamingSession();
    const { owner } = chat;
    const { store } = contractRig;
    const put = await store.putBlob(owner, new TextEncoder().encode("a file"), "text/plain");
    if (put.status !== "stored") throw new Error(JSON.stringify(put));
    const attachments = [aFile(put.id, 6)];
    const queued = await rig.say("Look at this", { mode: "queue", attachments });
    await rig.say("And this", { mode: "queue" });
    const seen = new Set<string>();
    const over = new AbortController();
    const polling = (async () => {
      while (!over.signal.aborted) {
        await nextTurn();
        const { inbox, session } = assertPresent(
          await elsewhere.reads.snapshot(owner, chat.session, { limit: 5 }),
        );
        const run = assertPresent(await elsewhere.reads.run(owner, queued.runId));
        const isQueued = inbox.some(({ messageId }) => messageId === queued.messageId);
        // The run is read after the inbox and may have ended in between.
        if (!isQueued) seen.add(`gone, run ${run.state}, ${inbox.length} left`);
        expect(session.liveRun).toBe(runId);
      }
    })();
    expect(await requestCancel(rig.log, ids, owner, queued.runId)).toEqual({ status: "ended" });
    await until(() => seen.size > 0);
    over.abort();
    await polling;
    expect([...seen]).toEqual(["gone, run cancelled, 1 left"]);
    resume();
    await rig.work();
    expect(textsOf(messagesIn(await chat.entries()))).toEqual([
      "Question",
      "Half more",
      "And this",
      "Again",
    ]);
  });

  test("[P13] [S0.20] a session deleted during a run is settled, accepts no late write, and leaves no lease", async () => {
    const { rig, chat, deps, target, runId, resume } = await streamingSession();
    await rig.say("Waits", { mode: "queue" });
    const fence = assertPresent(await contractRig.store.leases.read("run", chat.session)).fence;
    expect(await trash(deps, target)).toMatchObject({ status: "committed" });
    resume();
    await rig.runner.idle();
    expect(await chat.row()).toMatchObject({
      liveRun: null,
      openDeltas: 0,
      lastState: "cancelled",
    });
    expect(await contractRig.leasesOf(chat)).toEqual([]);
    expect(await restore(deps, target)).toMatchObject({ status: "committed" });
    await rig.work();
    const late = [anEvent("run.state", { state: "running" }, runId)];
    await chat.refuses("fenced", late, { under: { lease: "run", fence } });
    expect(textsOf(messagesIn(await chat.entries()))).toEqual(["Question", "Half", "Waits"]);
    expect((await chat.snapshot()).inbox).toEqual([]);
    expect(await fsckFindings(contractRig.store)).toEqual([]);
  });

  test("[P13] a cut that interrupts a run while its session is deleted says whether it was trashed or purged", async () => {
    const { rig, chat, deps, target, resume } = await streamingSession();
    /** Runs after the cut has found the run live and before it takes the lease. */
    function interruptAfter(meanwhile: () => Promise<unknown>) {
      const { leases } = contractRig.store;
      const store = withMembers(contractRig.store, {
        leases: { ...leases, acquire: (asked) => meanwhile().then(() => leases.acquire(asked)) },
      });
      const late = { ...deps, log: { ...deps.log, store } };
      return interruptThen(late, target, (at) => undo(deps, at));
    }
    const trashed = await interruptAfter(() => trash(deps, target));
    expect(trashed).toMatchObject({ status: "refused", code: "session_trashed" });
    resume();
    await rig.runner.idle();
    expect(textsOf(messagesIn(await chat.entries()))).toEqual(["Question", "Half"]);

    await restore(deps, target);
    await chat.startRun();
    const purged = await interruptAfter(async () => {
      await trash(deps, target);
      await contractRig.store.purge(chat.owner, chat.session);
    });
    expect(purged).toMatchObject({ status: "refused", code: "session_not_found" });
  });

  test("[S0.20] [S3.18] undo, truncate, clear and delete respect the compaction lock, and a delete that comes first ends it", async () => {
    const { rig, chat, deps, target, resume } = await streamingSession();
    const { fence } = await chat.lease("compaction");
    const refused = { status: "refused", code: "compaction_live" };
    expect(await trash(deps, target)).toMatchObject(refused);
    resume();
    await rig.runner.idle();
    const from = assertPresent((await chat.entries())[0]).seq;
    for (const act of [undo, clear]) expect(await act(deps, target)).toMatchObject(refused);
    expect(await truncate(deps, target, from)).toMatchObject(refused);
    expect(await trash(deps, target)).toMatchObject(refused);
    await contractRig.store.leases.release({ kind: "compaction", session: chat.session, fence });
    // A holder that crashed: its lease expires, and its row would stay.
    const again = await chat.lease("compaction", aHolder(), 1);
    await until(
      async () => (await contractRig.store.leases.read("compaction", chat.session)) === null,
    );
    expect((await contractRig.leasesOf(chat)).map(({ kind }) => kind)).toEqual(["compaction"]);
    expect(await trash(deps, target)).toMatchObject({ status: "committed" });
    expect(await contractRig.leasesOf(chat)).toEqual([]);
    const covers = { from: 1 as Seq, to: 2 as Seq };
    const summary = anEvent("context.compacted", { epoch: 1, covers, summary: "Late." });
    await chat.refuses("session_trashed", [summary], {
      under: { lease: "compaction", fence: again.fence },
    });
  });

  test("[P8] cuts only append: the id, the rows and the seqs stay, whatever is hidden", async () => {
    const { rig, chat, deps, target, resume } = await streamingSession();
    resume();
    await rig.runner.idle();
    const before = await chat.events();
    await retry(deps, target, { clientId: "again", text: "Other" });
    await rig.work();
    await undo(deps, target);
    await clear(deps, target);
    const after = await chat.events();
    expect(after.slice(0, before.length)).toEqual(before);
    expect(after.map(({ seq }) => seq)).toEqual(
      after.map(({ seq }) => seq).toSorted((a, b) => a - b),
    );
    expect((await chat.row()).id).toBe(chat.session);
  });
});
