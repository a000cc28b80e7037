import { writeFileSync } from "node:fs";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";

import { ids, type StoredEvent } from "@holdfast/protocol";
import { contractSuite, useRig } from "@holdfast/testing/contracts/contract-suite";
import { openContractRig } from "@holdfast/testing/contracts/contract-rig";
import type { Peer } from "@holdfast/testing/contracts/peer";
import { summarizeEvent } from "@holdfast/testing/contracts/peer-runs";
import type { HoldableDatabase } from "@holdfast/testing/contracts/test-database";
import { watchStore } from "@holdfast/testing/contracts/wrapped-stores";
import { manualClock } from "@holdfast/testing/fakes/manual-clock";
import {
  calls,
  gate,
  hang,
  says,
  scriptedModel,
  thinks,
} from "@holdfast/testing/fakes/scripted-model";
import { toSeq } from "@holdfast/testing/fixtures/factories";
import { seqsOf, type TestSession } from "@holdfast/testing/fixtures/open-session";
import {
  createGate,
  createRunner,
  createTool,
  okResult,
  until,
  untilStreamed,
} from "@holdfast/testing/rigs/run-rig";

import { createLog, type Log } from "../src/log/log.ts";
import { systemClock } from "../src/ports/clock.ts";
import type { Store } from "../src/ports/store.ts";
import { requestCancel } from "../src/run/cancel.ts";

export const runOutputShownContract = contractSuite<HoldableDatabase>(
  "a run's visible output",
  (factory) => {
    const rig = useRig(() => openContractRig(factory));
    let other: Store;
    let elsewhere: Peer;
    beforeAll(async () => {
      other = await rig.database.open();
      elsewhere = await rig.database.startPeer("process");
    }, 120_000);
    afterAll(async () => {
      await elsewhere.end();
      await other.close();
    });

    test("[P5] a cursor at every seq of a run, during it and after it, gets exactly what is missing", async () => {
      const ended = createGate();
      const { chat } = await rig.send("Do both");
      const follower = follow(rig.log, chat, 0);
      const runner = createRunner(rig.store, rig.log, {
        model: scriptedModel([
          [thinks("Hm. "), says("First, "), calls("look"), calls("look")],
          [says("then "), gate(ended.promise), says("this.")],
        ]),
        tools: [createTool("look", async (_call, { write }) => (write("here"), okResult("seen")))],
        clock: systemClock,
      });
      runner.notify(chat.owner, chat.session);
      await untilStreamed({ chat }, "then ");
      await expectSuffixAtEverySeq(follower, chat);
      ended.open();
      await runner.idle();
      await expectSuffixAtEverySeq(follower, chat);
      follower.leave();
    });

    /** The seqs after a cursor that events have or settle. */
    function accountedBy(events: readonly StoredEvent[], cursor: number): number[] {
      const settled = events.flatMap(settledNumbers).filter((seq) => seq > cursor);
      return [...new Set([...seqsOf(events), ...settled])].toSorted((a, b) => a - b);
    }

    /** Reconnects at each seq, in this process and in one that has seen nothing yet. */
    async function expectSuffixAtEverySeq(follower: Followed, chat: TestSession): Promise<void> {
      const { head } = await chat.row();
      // A slightly late reader gets a settled entry in place of its deltas: all seqs are accounted for either way.
      const whole = await follower.upTo(head);
      expect(accountedBy(whole, 0)).toEqual(numbers(1, head));
      const bySeq = new Map(whole.map((event) => [event.seq, event]));
      for (let cursor = 0; cursor < head; cursor += 1) {
        for (const log of [rig.log, createLog(other)]) {
          const back = follow(log, chat, cursor);
          const missing = await back.upTo(head);
          back.leave();
          const seen = missing.filter(({ seq }) => bySeq.has(seq));
          expect(seen).toEqual(seen.map(({ seq }) => bySeq.get(seq)));
          expect(accountedBy(missing, cursor)).toEqual(numbers(cursor + 1, head));
          expect(seqsOf(missing)).toEqual(seqsOf(missing).toSorted((a, b) => a - b));
        }
      }
    }

    test("[P6] a cancel from another process is noticed within a second, and asking again changes nothing", async () => {
      const clock = manualClock();
      const model = scriptedModel([[says("So far"), gate(createGate().promise)]]);
      const runner = createRunner(rig.store, rig.log, { model, clock });
      const sent = await rig.send("Talk");
      const { owner } = sent.chat;
      runner.notify(owner, sent.chat.session);
      await untilStreamed(sent, "So far");
      runner.start();
      await until(() => clock.sleepers >= 3);
      expect(await elsewhere.runs.cancel(owner, sent.runId)).toEqual({ status: "requested" });
      const { head } = await sent.chat.row();
      expect(await elsewhere.runs.cancel(owner, sent.runId)).toEqual({ status: "requested" });
      expect(await sent.chat.row()).toMatchObject({ head, liveState: "running" });
      // A run that has just written is checked one interval later.
      await clock.advance(500);
      await until(async () => clock.sleepers >= 3 || (await sent.terminalStates()).length > 0);
      await clock.advance(500);
      await runner.idle();
      await runner.stop();
      expect(await sent.terminalStates()).toEqual(["cancelled"]);
      expect(await sent.transcript()).toEqual(["user: Talk", "assistant: So far"]);
      expect(await elsewhere.runs.cancel(owner, sent.runId)).toEqual({ status: "ended" });
      expect(await sent.terminalStates()).toEqual(["cancelled"]);
    });

    test("[P6] a model that ignores its signal is abandoned after five seconds, under a higher fence", async () => {
      const clock = manualClock();
      const watched = watchStore(rig.store);
      const model = scriptedModel([[says("So far"), hang], says("Here I am.")]);
      const runner = createRunner(watched.store, createLog(watched.store), { model, clock });
      const sent = await rig.send("Talk");
      const { owner, session } = sent.chat;
      runner.notify(owner, session);
      await untilStreamed(sent, "So far");
      const next = await rig.send("And now?", { chat: sent.chat });
      await requestCancel(rig.log, ids, owner, sent.runId);
      const asleep = clock.sleepers;
      runner.notify(owner, session);
      await until(() => clock.sleepers > asleep);
      await clock.advance(4_999);
      const fence = Math.max(...watched.fences);
      expect(await sent.run()).toMatchObject({ state: "running", cancelRequested: true });
      await clock.advance(1);
      await runner.idle();
      expect(await sent.terminalStates()).toEqual(["cancelled"]);
      expect(watched.fences.filter((later) => later > fence).length).toBeGreaterThan(1);
      expect(watched.fences).toEqual(watched.fences.toSorted((a, b) => a - b));
      expect(await next.transcript()).toEqual([
        "user: Talk",
        "assistant: So far",
        "user: And now?",
        "assistant: Here I am.",
      ]);
    });

    test("[P6] followers may leave or die: the run continues", async () => {
      const ended = createGate();
      const sent = await rig.send("Go on");
      const { owner, session } = sent.chat;
      const leaving = new AbortController();
      const followers = [
        rig.log.tail(owner, session, toSeq(0), { signal: leaving.signal })[Symbol.asyncIterator](),
        rig.log.tail(owner, session, toSeq(0))[Symbol.asyncIterator](),
      ];
      const guest = await rig.database.startPeer("process");
      await guest.runs.follow(owner, session, toSeq(0));
      const model = scriptedModel([[says("One, "), gate(ended.promise), says("two.")]]);
      const runner = createRunner(rig.store, rig.log, { model });
      runner.notify(owner, session);
      await untilStreamed(sent, "One, ");
      await until(async () => (await guest.runs.shown()).some((line) => line.includes("One, ")));
      for (const tail of followers) await tail.next();
      leaving.abort();
      await followers[1]?.return?.();
      await guest.kill();
      ended.open();
      await runner.idle();
      expect(await sent.terminalStates()).toEqual(["completed"]);
      expect(await sent.transcript()).toEqual(["user: Go on", "assistant: One, two."]);
    });

    test("[P5] output on its way to the disk is shown to nobody, and a kill right then loses it", async () => {
      const killed = await rig.database.startHoldablePeer();
      onTestFinished(() => killed.end());
      const resumeFile = `${rig.effects}.go-on`;
      const reply = [says("Shown. "), hang, says("Not shown. ")];
      await killed.runs.work({ replies: { "Show me": [reply] }, hangUntil: resumeFile });
      const { chat } = await rig.send("Show me");
      await killed.runs.follow(chat.owner, chat.session, toSeq(0));
      const shown = async () => (await killed.runs.shown()).join("\n");
      await until(async () => (await shown()).includes("Shown. "));
      const held = await rig.database.holdWrites(chat.session);
      try {
        writeFileSync(resumeFile, "");
        await held.reached();
        const seen = await killed.runs.shown();
        expect(seen.join("\n")).not.toContain("Not shown. ");
        await killed.kill();
        await held.release();
        const stored = (await chat.events()).map(summarizeEvent);
        expect(seen).toEqual(stored);
      } finally {
        await held.release();
      }
    });
  },
);

interface Followed {
  /** Everything from the cursor to this seq, as it arrived. */
  upTo(head: number): Promise<readonly StoredEvent[]>;
  leave(): void;
}

/** Takes events as they arrive, as a page would. */
function follow(log: Log, { owner, session }: TestSession, after: number): Followed {
  const leaving = new AbortController();
  const seen: StoredEvent[] = [];
  void (async () => {
    for await (const item of log.tail(owner, session, toSeq(after), { signal: leaving.signal }))
      if (item.kind === "events") seen.push(...item.events);
  })();
  return {
    async upTo(head) {
      await until(() => (seen.at(-1)?.seq ?? 0) >= head);
      return seen;
    },
    leave: () => leaving.abort(),
  };
}

/** The seqs of the deltas an entry settles. */
function settledNumbers({ data }: StoredEvent): number[] {
  const { deltas } = data;
  if (!Array.isArray(deltas)) return [];
  return deltas.flatMap((range) =>
    Array.isArray(range) ? numbers(Number(range[0]), Number(range[1])) : [],
  );
}

function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}
