import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";

import { entriesOf, ids, type NoticeId } from "@holdfast/protocol";
import { contractSuite, useRig } from "@holdfast/testing/contracts/contract-suite";
import { fsckFindings } from "@holdfast/testing/conformance/harness";
import { type ContractRig, openContractRig } from "@holdfast/testing/contracts/contract-rig";
import { openMemorySession } from "@holdfast/testing/contracts/memory-session";
import { batchesIn, peerMemoryOwner } from "@holdfast/testing/contracts/peer-runs";
import type { SharedDatabase } from "@holdfast/testing/contracts/test-database";
import { watchStore } from "@holdfast/testing/contracts/wrapped-stores";
import { gate, says, scriptedModel } from "@holdfast/testing/fakes/scripted-model";
import { aHolder } from "@holdfast/testing/fixtures/factories";
import type { TestSession } from "@holdfast/testing/fixtures/open-session";
import { RecordingMemory } from "@holdfast/testing/rigs/memory-rig";
import { createGate, until } from "@holdfast/testing/rigs/run-rig";

import { undo } from "../src/history/undo.ts";
import { redo } from "../src/history/redo.ts";
import { createLog } from "../src/log/log.ts";
import type { Store } from "../src/ports/store.ts";
import { requestCancel } from "../src/run/cancel.ts";

const dayMs = 24 * 60 * 60_000;

/** The session's notices as they read now: kind, and how many turns. */
async function noticesOf(chat: Pick<TestSession, "entries">): Promise<readonly string[]> {
  return entriesOf(await chat.entries()).flatMap((entry) =>
    entry.type === "notice" ? [`${entry.kind}: ${entry.text.split(" of this")[0]}`] : [],
  );
}

export const memoryDurabilityContract = contractSuite<SharedDatabase>(
  "durable memory",
  (factory) => {
    const contractRig = useRig(() => openContractRig(factory));

    /** The rig, with another store on the same data. */
    function withStore(store: Store): Pick<ContractRig, "store" | "log" | "send"> {
      return { store, log: createLog(store), send: (...args) => contractRig.send(...args) };
    }

    test("[S2.14] a completed turn is marked after its end, in the same commit, and commits nothing", async () => {
      const watched = watchStore(contractRig.store);
      const { memory, committer, chat, turn, events } = await openMemorySession(
        withStore(watched.store),
      );
      committer.register(chat.owner, chat.session, memory);
      const sent = await turn("first");
      expect(watched.trace.at(-1)).toBe("answered message.assistant+run.state+memory.marked");
      const log = await chat.events();
      const end = log.findIndex(
        ({ type, data }) => type === "run.state" && data["state"] === "completed",
      );
      const mark = log[end + 1];
      expect(mark).toMatchObject({ type: "memory.marked", runId: sent.runId, at: log[end]?.at });
      expect(await committer.generation(chat.owner, chat.session)).toBe(mark?.seq);
      expect([memory.batches, (await events()).length]).toEqual([[], 1]);
    });

    test("[S2.14] a cancelled turn is not marked, however late the cancel comes", async () => {
      const answered = createGate();
      const model = scriptedModel(() => [says("Well"), gate(answered.promise)]);
      const { chat, runner, events, isDirty } = await openMemorySession(contractRig, {}, model);
      const sent = await contractRig.send("stop it", { chat });
      runner.notify(chat.owner, chat.session);
      await until(async () => (await sent.run()).state === "running");
      await requestCancel(contractRig.log, ids, chat.owner, sent.runId);
      answered.open();
      await runner.idle();
      expect((await sent.run()).state).toBe("cancelled");
      expect([await events(), await isDirty()]).toEqual([[], false]);
    });

    test("[S2.14] a turn that is cancelled while its end is written is not marked", async () => {
      const watched = watchStore(contractRig.store);
      const talk = await openMemorySession(withStore(watched.store));
      const { chat, runner, events, isDirty } = talk;
      const end = watched.holdNext("memory.marked");
      const sent = await contractRig.send("stop it", { chat });
      runner.notify(chat.owner, chat.session);
      await end.reached;
      const { log } = contractRig;
      expect(await requestCancel(log, ids, chat.owner, sent.runId)).toMatchObject({
        status: "requested",
      });
      end.release();
      await runner.idle();
      expect((await sent.run()).state).toBe("cancelled");
      expect(await sent.transcript()).toEqual(["user: stop it", "assistant: Noted."]);
      expect([await events(), await isDirty()]).toEqual([[], false]);
    });

    test("[S2.14] a throw-away turn is not marked", async () => {
      const { chat, turn, events } = await openMemorySession(contractRig, {
        memoryOwnerOf: () => null,
      });
      expect((await (await turn("by the way")).run()).state).toBe("completed");
      expect([await events(), (await chat.row()).lastState]).toEqual([[], "completed"]);
    });

    test("[S2.17] completed turns survive kill -9 and are committed afterwards, under their key if they had been tried", async () => {
      const other = await contractRig.database.startPeer("process");
      try {
        const file = `${contractRig.effects}-memory`;
        writeFileSync(file, "");
        await other.runs.work({ replies: {}, otherwise: says("Noted."), memory: file });
        const first = await contractRig.send("tried");
        await until(() => batchesIn(file).length === 1);
        const second = await contractRig.send("not tried", { chat: first.chat });
        await until(async () => (await second.run()).state === "completed");
        await other.kill();

        const { memory, rig, committer } = await openMemorySession(contractRig, {
          liveness: factory.identity.createLiveness(),
        });
        rig.reachable.set(peerMemoryOwner.configuration, memory);
        committer.start();
        const { owner, session } = first.chat;
        await until(async () => !(await committer.isDirty(owner, session)));
        await committer.stop();
        const ours = memory.batches.filter((batch) => batch.session === session);
        const texts = ours.map(({ turns }) => turns.map(({ messages }) => messages[0]?.text));
        expect(texts).toEqual([["tried"], ["not tried"]]);
        // Once more, byte for byte: a provider that already has it recognises it by its key.
        expect(ours[0]).toEqual(batchesIn(file)[0]);
      } finally {
        await other.end();
      }
    });

    test("[S2.18] a hanging provider costs no turn and no lock, and is abandoned in time", async () => {
      const { memory, rig, committer, chat, turn, isDirty } = await openMemorySession(contractRig, {
        providerTimeoutMs: 15_000,
      });
      rig.reachable.set("one", memory);
      const { owner, session } = chat;
      await turn("first");
      const { asked, open } = memory.waits();
      const boundary = committer.boundary(owner, session, "compaction");
      await asked;
      for (const text of ["second", "third"]) {
        expect((await (await turn(text)).run()).state).toBe("completed");
        void committer.boundary(owner, session, "compaction");
      }
      expect(await contractRig.store.leases.read("run", session)).toBeNull();
      const held = async () =>
        (await contractRig.store.leases.read("memory", session))?.expiresAt ?? 0;
      const before = await held();
      contractRig.advanceClock(10_000);
      await rig.clock.advance(10_000);
      await until(async () => (await held()) >= before + 10_000);
      await rig.clock.advance(5_000);
      await boundary;
      open();
      const backlog = await contractRig.store.reads.memory(owner);
      expect(backlog).toMatchObject({ sessions: 1, turns: 3, failing: { code: "provider_late" } });
      expect([await isDirty(), await contractRig.store.leases.read("memory", session)]).toEqual([
        true,
        null,
      ]);
    });

    test("[S2.18] a provider that fails for hours is asked ever less often, keeps its key, and gets everything", async () => {
      const { memory, rig, committer, chat, turn } = await openMemorySession(contractRig);
      rig.reachable.set("one", memory);
      const { owner, session } = chat;
      await turn("first");
      const waits: number[] = [];
      for (let tries = 1; tries <= 7; tries += 1) {
        memory.fails();
        await committer.boundary(owner, session, "clear");
        await committer.boundary(owner, session, "clear");
        expect(memory.batches.length).toBe(tries);
        const { failing, turns } = await contractRig.store.reads.memory(owner);
        expect([failing?.tries, turns]).toEqual([tries, tries]);
        const wait = (failing?.retryAt ?? 0) - (await contractRig.store.now());
        waits.push(Math.ceil(wait / 60_000));
        contractRig.advanceClock(wait);
        await turn(`more ${tries}`);
      }
      expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60]);
      expect(committer.figures().known).toBe(0);
      await committer.boundary(owner, session, "clear");
      expect(new Set(memory.batches.slice(0, 8).map(({ key }) => key)).size).toBe(1);
      expect(memory.spokenTexts.slice(-2).map((batchTexts) => batchTexts.length)).toEqual([1, 7]);
      const empty = { sessions: 0, turns: 0, oldestAt: null, failing: null };
      expect(await contractRig.store.reads.memory(owner)).toEqual(empty);
    });

    test("[S2.18] a provider that asks for time gets it", async () => {
      const { memory, rig, committer, chat, turn } = await openMemorySession(contractRig);
      rig.reachable.set("one", memory);
      const { owner, session } = chat;
      await turn("first");
      const retryAfterMs = 20 * 60_000;
      const busy = { status: "failed", code: "busy", message: "Later.", retryAfterMs } as const;
      memory.answers(async () => busy);
      const asked = await contractRig.store.now();
      await committer.boundary(owner, session, "clear");
      const { failing } = await contractRig.store.reads.memory(owner);
      expect(failing?.retryAt).toBeGreaterThanOrEqual(asked + retryAfterMs);
    });

    test("[S2.18] turns of a provider that has been gone for a day are given up with a notice, and newer ones are committed", async () => {
      const { memory, rig, committer, chat, turn, isDirty } = await openMemorySession(contractRig);
      const { owner, session } = chat;
      const newer = new RecordingMemory("two");
      rig.reachable.set("one", memory).set("two", newer);
      await turn("first");
      // An outage does not count as absence, however long it lasts.
      memory.fails();
      await committer.boundary(owner, session, "clear");
      contractRig.advanceClock(dayMs);
      rig.reachable.delete("one");
      rig.turnTo(newer);
      await turn("second");
      await committer.boundary(owner, session, "clear");
      contractRig.advanceClock(dayMs - 60_000);
      await committer.boundary(owner, session, "clear");
      expect([newer.batches, await noticesOf(chat)]).toEqual([[], ["memory_waiting: One turn"]]);
      contractRig.advanceClock(3_600_000);
      await committer.boundary(owner, session, "clear");
      expect([newer.spokenTexts, await isDirty()]).toEqual([[["second"]], false]);
      expect(await noticesOf(chat)).toEqual(["not_remembered: One turn"]);
      expect(memory.batches).toHaveLength(1);
      const ends = (await chat.events()).filter(({ type }) => type === "memory.committed");
      expect(ends.map(({ data }) => data["givenUp"])).toEqual([true, undefined]);
    });

    /** A session with a turn whose provider is gone, and one for the provider that is configured now. */
    async function openAbandoned() {
      const opened = await openMemorySession(contractRig);
      const newer = new RecordingMemory("two");
      opened.rig.reachable.set("two", newer);
      await opened.turn("first");
      opened.rig.turnTo(newer);
      await opened.turn("second");
      const { committer, chat } = opened;
      const boundary = () => committer.boundary(chat.owner, chat.session, "clear");
      await boundary();
      return { ...opened, newer, boundary };
    }

    test("[S2.19] the person is told once when a provider has been missing for a while, and how it ended", async () => {
      const { memory, rig, chat, newer, boundary, isDirty } = await openAbandoned();
      contractRig.advanceClock(9 * 60_000);
      await boundary();
      expect(await noticesOf(chat)).toEqual([]);
      for (let tries = 0; tries < 3; tries += 1) {
        contractRig.advanceClock(60 * 60_000);
        await boundary();
        expect(await noticesOf(chat)).toEqual(["memory_waiting: One turn"]);
      }
      const told = (await chat.entries()).filter(({ type }) => type.startsWith("notice."));
      expect(told).toHaveLength(1);
      rig.reachable.set("one", memory);
      contractRig.advanceClock(60 * 60_000);
      await boundary();
      expect(await noticesOf(chat)).toEqual(["remembered: One turn"]);
      expect([memory.spokenTexts, newer.spokenTexts, await isDirty()]).toEqual([
        [["first"]],
        [["second"]],
        false,
      ]);
    });

    test("[S2.19] a person stops waiting for a provider that is gone, and newer turns are committed", async () => {
      const { committer, memory, chat, newer, isDirty } = await openAbandoned();
      const { owner, session } = chat;
      expect(await committer.stopWaiting(owner, session, ids.make("notice"))).toBe(0);
      expect(await committer.stopWaiting(owner, session)).toBe(1);
      await until(async () => !(await isDirty()));
      expect([memory.batches, newer.spokenTexts]).toEqual([[], [["second"]]]);
      expect(await noticesOf(chat)).toEqual(["not_remembered: One turn"]);
      expect(await committer.stopWaiting(owner, session)).toBe(0);
    });

    test("[S2.19] stopping the wait by its notice gives up all turns of that provider, however many", async () => {
      const { rig, committer, memory, chat, turn, isDirty } = await openMemorySession(contractRig);
      const { owner, session } = chat;
      for (let turns = 0; turns < 51; turns += 1) await turn(`turn ${turns}`);
      rig.turnTo(new RecordingMemory("two"));
      const boundary = () => committer.boundary(owner, session, "clear");
      await boundary();
      contractRig.advanceClock(15 * 60_000);
      await boundary();
      expect(await noticesOf(chat)).toEqual(["memory_waiting: 50 turns"]);
      const notice = (await chat.entries()).findLast(({ type }) => type === "notice.added");
      const noticeId = notice?.data["noticeId"] as NoticeId;
      expect(await committer.stopWaiting(owner, session, noticeId)).toBe(2);
      expect([await isDirty(), memory.batches]).toEqual([false, []]);
      expect(await noticesOf(chat)).toEqual([
        "not_remembered: 50 turns",
        "not_remembered: One turn",
      ]);
    });

    test("[S2.19] a provider that fails is not given up by stopping the wait: it is still there", async () => {
      const { memory, rig, committer, chat, turn, isDirty } = await openMemorySession(contractRig);
      const { owner, session } = chat;
      rig.reachable.set("one", memory);
      await turn("first");
      memory.fails();
      await committer.boundary(owner, session, "clear");
      expect(await committer.stopWaiting(owner, session)).toBe(0);
      expect([await isDirty(), await noticesOf(chat)]).toEqual([true, []]);
    });

    test("[P10] a turn undone before its commit is left out, and a redo brings it back", async () => {
      const { memory, chat, turn, commit, isDirty } = await openMemorySession(contractRig);
      const { owner, session } = chat;
      const target = () => ({ owner, session, command: ids.make("event") });
      const deps = { log: contractRig.log, ids };
      await turn("kept");
      await turn("undone");
      await undo(deps, target(), 1);
      memory.fails();
      await commit(memory);
      await redo(deps, target());
      await commit(memory);
      expect(memory.spokenTexts).toEqual([["kept"], ["kept", "undone"]]);
      await turn("all of it undone");
      await undo(deps, target(), 1);
      expect([await commit(memory), await isDirty()]).toEqual([true, false]);
      expect(memory.batches.length).toBe(2);
    });

    test("[P10] two processes never commit one segment at the same time", async () => {
      const { memory, chat, turn, commit } = await openMemorySession(contractRig);
      const elsewhere = await openMemorySession(contractRig);
      await turn("first");
      const { asked, open } = memory.waits();
      const here = commit(memory);
      await asked;
      const other = new RecordingMemory("one");
      expect(await elsewhere.committer.commit(chat.owner, chat.session, other)).toBe(false);
      open();
      expect([await here, other.batches]).toEqual([true, []]);
      expect(await elsewhere.committer.commit(chat.owner, chat.session, other)).toBe(false);
    });

    test("[P10] a process that lost its lease while the provider worked clears nothing", async () => {
      const { memory, chat, turn, commit, isDirty } = await openMemorySession(contractRig);
      await turn("first");
      const { asked, open } = memory.waits();
      const here = commit(memory);
      await asked;
      const held = await contractRig.store.leases.read("memory", chat.session);
      await contractRig.store.leases.acquire({
        kind: "memory",
        session: chat.session,
        holder: aHolder(),
        ttlMs: 1,
        replacing: held!.fence,
      });
      open();
      expect([await here, await isDirty()]).toEqual([false, true]);
      contractRig.advanceClock(2);
      expect([await commit(memory), await isDirty()]).toEqual([true, false]);
      expect(memory.batches[0]?.key).toBe(memory.batches[1]?.key);
    });

    test("[P10] turns that no handle can be opened for stay, and that is reported", async () => {
      const { committer, chat, turn, isDirty } = await openMemorySession(contractRig);
      await turn("first");
      await committer.boundary(chat.owner, chat.session, "new_session");
      const { failing } = await contractRig.store.reads.memory(chat.owner);
      expect([failing?.code, await isDirty()]).toEqual(["provider_unreachable", true]);
    });

    test("the store is sound afterwards", async () => {
      expect(await fsckFindings(contractRig.store)).toEqual([]);
    });
  },
);
