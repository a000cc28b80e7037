import { expect, test } from "vitest";

import { ids, type StoredEvent } from "@holdfast/protocol";
import { contractSuite, useRig } from "@holdfast/testing/contracts/contract-suite";
import { fsckFindings } from "@holdfast/testing/conformance/harness";
import {
  addLongTurn,
  compactionDeps,
  compactionSizes,
  openLongSession,
} from "@holdfast/testing/contracts/compaction-rig";
import {
  copySpills,
  openLateJournalRig,
  summarizeEntries,
} from "@holdfast/testing/contracts/late-journal-rig";
import { interruptReads } from "@holdfast/testing/contracts/wrapped-stores";
import { manualClock } from "@holdfast/testing/fakes/manual-clock";
import {
  calls,
  fails,
  gate,
  says,
  type Script,
  scriptedModel,
} from "@holdfast/testing/fakes/scripted-model";
import { aHolder } from "@holdfast/testing/fixtures/factories";
import { assertPresent, textsOf } from "@holdfast/testing/fixtures/open-session";
import {
  createGate,
  createRunner,
  createTool,
  okResult,
  openRunRig,
  transcriptLines,
  until,
  untilStreamed,
  type RigDeps,
} from "@holdfast/testing/rigs/run-rig";

import { compactSession } from "../src/context/compact.ts";
import { restoreEpoch } from "../src/context/restore-epoch.ts";
import { branch } from "../src/history/branch.ts";
import { undo } from "../src/history/undo.ts";
import { redo } from "../src/history/redo.ts";
import { restore, trash } from "../src/history/trash.ts";
import { createLog } from "../src/log/log.ts";
import { giveUpRun } from "../src/recovery/take-over.ts";
import { admitMessage, changeInput } from "../src/run/admit.ts";
import { answerApproval } from "../src/run/answer-approval.ts";
import { requestCancel } from "../src/run/cancel.ts";
import { acquireRunLease, claimNext } from "../src/run/claim.ts";
import { resumeRun } from "../src/run/resume.ts";

const hour = 60 * 60 * 1000;

export const changesInBetweenContract = contractSuite(
  "changes between a read and its commit",
  (factory) => {
    const contractRig = useRig(() => openLateJournalRig(factory));
    const lookAround = createTool("look", async () => okResult("seen"));
    const pay = createTool("pay", async () => okResult("paid"), { approval: () => "ask" });

    /** A session whose reads can be interrupted. Changes made in between go through another log. */
    async function openSession(script: Script = [], deps: RigDeps = {}) {
      const { store, afterNext } = interruptReads(contractRig.store);
      const rig = await openRunRig(store, {
        model: scriptedModel(script),
        tools: [lookAround, pay],
        deps,
      });
      const { log } = contractRig;
      const { owner, session } = rig.chat;
      const claimDeps = {
        log,
        ids,
        clock: manualClock(),
        holder: () => aHolder(),
        leaseMs: 30_000,
      };
      return {
        rig,
        chat: rig.chat,
        target: { owner, session },
        deps: { log: rig.log, ids, holder: () => aHolder() },
        afterNext,
        others: { log, ids, holder: () => aHolder() },
        sayMeanwhile: (text: string) =>
          admitMessage(log, ids, { owner, session, clientId: ids.make("message"), text }),
        /** Claims the next message for a process that then does nothing with it. */
        claim: async () => {
          const lease = assertPresent(await acquireRunLease(claimDeps, session));
          const run = await claimNext(claimDeps, owner, lease);
          return { lease, run };
        },
        texts: async () => textsOf((await rig.entries()).filter(isMessage)),
      };
    }

    const isMessage = ({ type }: StoredEvent) =>
      type === "message.user" || type === "message.assistant";
    const answers: Script = (_request, before) => says(`Answer ${before + 1}`);

    /** A session with turns (one, two, three), each with its own answer. */
    async function openTurns() {
      const opened = await openSession(answers);
      for (const text of ["one", "two", "three"]) {
        await opened.rig.say(text);
        await opened.rig.work();
      }
      return opened;
    }
    const everything = ["one", "Answer 1", "two", "Answer 2", "three", "Answer 3"];

    test("[P1] a queued message that is changed while it is claimed is taken as changed", async () => {
      const { rig, target, afterNext, others, texts } = await openSession([says("Well.")]);
      const { messageId } = await rig.say("First words");
      const text = "Second thoughts";
      afterNext("snapshot", () => changeInput(others.log, ids, { ...target, messageId }, { text }));
      await rig.work();
      expect(await texts()).toEqual([text, "Well."]);
    });

    test("[P1] a steering message that is changed while it is taken reaches the model as changed", async () => {
      const text = "That way";
      const steer = createTool("steer", async () => {
        const { messageId } = await opened.rig.say("This way", { mode: "steer" });
        const change = () =>
          changeInput(opened.others.log, ids, { ...opened.target, messageId }, { text });
        opened.afterNext("snapshot", change);
        return okResult("done");
      });
      const opened = await openSession([calls("steer"), says("As you wish.")], {
        tools: new Map([["steer", steer]]),
      });
      await opened.rig.say("Go");
      await opened.rig.work();
      expect(await opened.texts()).toEqual(["Go", "", text, "As you wish."]);
    });

    test("[P6] a queued run that is claimed during its cancel is ended by its runner", async () => {
      const { rig, chat, target, afterNext, claim, texts } = await openSession();
      const { runId } = await rig.say("Never mind");
      afterNext("snapshot", async () => afterNext("run", claim));
      expect(await requestCancel(rig.log, ids, target.owner, runId)).toEqual({
        status: "requested",
      });
      expect(await rig.run(runId)).toMatchObject({ state: "claimed", cancelRequested: true });
      expect(await texts()).toEqual(["Never mind"]);
      expect((await chat.snapshot()).inbox).toEqual([]);
    });

    test("[P6] a waiting run that is answered during its cancel is ended by its runner", async () => {
      const { rig, target, afterNext, others } = await openSession([calls("pay")]);
      const { owner, session } = target;
      const { runId } = await rig.say("Pay");
      await rig.work();
      const { approvals } = await contractRig.store.reads.approvals(owner, { session, limit: 1 });
      const { id } = assertPresent(approvals[0]);
      const answer = () => answerApproval(others.log, ids, owner, id, "once");
      afterNext("snapshot", async () => afterNext("run", answer));
      expect(await requestCancel(rig.log, ids, owner, runId)).toEqual({ status: "requested" });
      expect(await rig.run(runId)).toMatchObject({ state: "claimed", cancelRequested: true });
    });

    test("[P6] a run that comes to rest during its cancel ends with a result for each of its calls", async () => {
      const asked = createGate();
      const script = [[gate(asked.promise), calls("look"), calls("pay")]];
      const { rig, target, afterNext } = await openSession(script);
      const { owner, session } = target;
      const { runId } = await rig.say("Look, then pay");
      rig.runner.notify(owner, session);
      await until(async () => (await rig.run(runId)).state === "running");
      afterNext("run", async () => {
        asked.open();
        await rig.runner.idle();
      });
      expect(await requestCancel(rig.log, ids, owner, runId)).toEqual({ status: "ended" });
      const results = transcriptLines(await rig.entries()).filter((line) =>
        line.startsWith("tool:"),
      );
      expect(results).toEqual(["tool: ok seen", expect.stringMatching(/^tool: cancelled /)]);
    });

    test("[P7] when two approvals are answered at once, the later answer wakes the run", async () => {
      const script = [[calls("pay", 1), calls("pay", 2)], says("Both paid.")];
      const { rig, target, afterNext, others } = await openSession(script);
      const { owner, session } = target;
      const { runId } = await rig.say("Pay both");
      await rig.work();
      const { approvals } = await contractRig.store.reads.approvals(owner, { session, limit: 9 });
      const [first, second] = approvals.map(({ id }) => id);
      afterNext("approvalsFor", () =>
        answerApproval(others.log, ids, owner, assertPresent(second), "once"),
      );
      const answered = await answerApproval(rig.log, ids, owner, assertPresent(first), "once");
      expect(answered).toMatchObject({ status: "answered" });
      expect(await rig.run(runId)).toMatchObject({ state: "claimed", cause: "answered" });
      await rig.work();
      expect(await rig.run(runId)).toMatchObject({ state: "completed" });
    });

    test("[P4] two people who continue a run at once both get the same continuation", async () => {
      const { rig, target, afterNext, others } = await openSession([fails("fatal")]);
      const { owner } = target;
      const { runId } = await rig.say("Go");
      await rig.work();
      const resume = (log: typeof rig.log) =>
        resumeRun(log, ids, { owner, runId, command: ids.make("event") });
      let other: unknown;
      afterNext("snapshot", async () =>
        afterNext("run", async () => (other = await resume(others.log))),
      );
      expect(await resume(rig.log)).toEqual(other);
      expect((await rig.chat.snapshot()).inbox).toHaveLength(1);
    });

    test("[P8] two undos at once each hide a turn", async () => {
      const { target, afterNext, deps, others, texts } = await openTurns();
      afterNext("entries", () => undo(others, target));
      expect(await undo(deps, target)).toMatchObject({ status: "committed" });
      expect(await texts()).toEqual(everything.slice(0, 2));
    });

    test("[P8] a message that is sent during a redo ends it", async () => {
      const { chat, target, afterNext, deps, sayMeanwhile, texts } = await openTurns();
      await undo(deps, target);
      afterNext("events", () => sayMeanwhile("Something else"));
      expect(await redo(deps, target)).toMatchObject({ code: "nothing_to_redo" });
      expect(await texts()).toEqual(everything.slice(0, 4));
      expect((await chat.snapshot()).inbox).toHaveLength(1);
    });

    test("[P8] a branch made during an undo shows as many messages as its row counts", async () => {
      const { target, afterNext, deps, others } = await openTurns();
      const { owner } = target;
      // The first read looks for the branch, the second for its origin.
      afterNext("session", async () => afterNext("session", () => undo(others, target)));
      const branched = await branch(deps, target);
      if (branched.status !== "branched") throw new Error(JSON.stringify(branched));
      const { reads } = contractRig.store;
      const page = assertPresent(await reads.entries(owner, branched.session, { limit: 100 }));
      expect(textsOf(page.entries.filter(isMessage))).toEqual(everything.slice(0, 4));
      expect(await reads.session(owner, branched.session)).toMatchObject({
        messageCount: 4,
        preview: "Answer 2",
      });
    });

    test("[P13] a message accepted during a deletion is in the conversation after a restore", async () => {
      const { rig, chat, target, afterNext, deps, sayMeanwhile, texts } = await openTurns();
      afterNext("snapshot", () => sayMeanwhile("One more"));
      expect(await trash(deps, target)).toMatchObject({ status: "committed" });
      expect((await chat.snapshot()).inbox).toEqual([]);
      expect(await restore(deps, target)).toMatchObject({ status: "committed" });
      await rig.work();
      expect(await texts()).toEqual([...everything, "One more"]);
    });

    test.each(["ask", "off"] as const)(
      "[P6] a run that is cancelled during its take-over ends as cancelled (%s)",
      async (policy) => {
        const { rig, target, afterNext, claim, others } = await openSession([], { policy });
        const { runId } = await rig.say("Go");
        await contractRig.store.leases.release((await claim()).lease);
        const cancel = () => requestCancel(others.log, ids, target.owner, runId);
        // The claim reads first and finds the run; the take-over reads next.
        afterNext("snapshot", async () => afterNext("snapshot", cancel));
        await rig.work();
        expect(await rig.run(runId)).toMatchObject({ state: "cancelled" });
        const states = (await rig.chat.events()).filter(({ type }) => type === "run.state");
        expect(states.map(({ data }) => data["state"])).toEqual(["claimed", "cancelled"]);
      },
    );

    test("[P6] a run that is cancelled while it is given up ends as cancelled", async () => {
      const { rig, target, afterNext, claim, others } = await openSession();
      const { owner } = target;
      const { runId } = await rig.say("Go");
      const { lease } = await claim();
      afterNext("snapshot", () => requestCancel(others.log, ids, owner, runId));
      await giveUpRun({ ...others, log: rig.log, clock: manualClock() }, owner, lease, "refused");
      expect(await rig.run(runId)).toMatchObject({ state: "cancelled" });
      expect(transcriptLines(await rig.entries())).toEqual(["user: Go", "notice: given_up"]);
    });

    test("[P7] a run that is cancelled while its late journal is brought in leaves no call open", async () => {
      const [there, here] = [await contractRig.createHome(), await contractRig.createHome()];
      const away = createGate();
      const reply = [says("It was "), gate(away.promise), says("dark."), calls("look")];
      const { said, outage } = await contractRig.abandonRun([reply], there);
      const { chat, runId } = said;
      await untilStreamed({ chat }, "It was ");
      outage.isDown = true;
      away.open();
      await until(async () => {
        const [header] = await there.headers();
        const answer = header && (await there.journals.read(header));
        return answer?.status === "output" && answer.end !== null;
      });
      const { store, afterNext } = interruptReads(contractRig.store);
      const deps = { spills: here.journals, policy: "ask" } as const;
      const runner = createRunner(store, createLog(store), {
        model: scriptedModel([]),
        dead: () => true,
        deps,
      });
      await runner.sweep();
      await runner.idle();
      expect(await said.run()).toMatchObject({ state: "paused" });
      copySpills(there, here);
      afterNext("run", () => requestCancel(contractRig.log, ids, chat.owner, runId));
      expect(summarizeEntries(await contractRig.read(runner, chat))).toEqual([
        "user: Begin",
        "assistant: It was ",
        "assistant: dark.*|calls look*",
        "tool: cancelled It was not begun: the host had stopped.*",
        "notice: recovered",
      ]);
      await runner.stop();
    });

    test("[S0.22] a person who restores an epoch during an expired compaction keeps it", async () => {
      const { store, log } = contractRig;
      const chat = await openLongSession(store);
      const { owner, session } = chat;
      const target = { owner, session, reason: "asked", sizes: compactionSizes } as const;
      expect(await compactSession(compactionDeps(store), target)).toMatchObject({ epoch: 1 });
      for (const text of ["five", "six", "seven"]) await addLongTurn(chat, text);
      const deps = compactionDeps(store, async () => {
        // By the store's clock the lock has expired, but nobody else has taken it.
        contractRig.advanceClock(hour);
        expect(await restoreEpoch({ log, ids }, { owner, session }, 0)).toMatchObject({
          status: "committed",
        });
        return { status: "summarised", text: "They went on." };
      });
      const compacted = await compactSession(deps, target);
      contractRig.advanceClock(-hour);
      expect(compacted).toEqual({ status: "deferred", why: "newer" });
      expect((await chat.entries()).at(-1)).toMatchObject({ type: "context.epoch" });
    });

    test("[S0.22] an epoch that is cut while it is restored is not restored", async () => {
      const { store, afterNext } = interruptReads(contractRig.store);
      const chat = await openLongSession(store);
      const { owner, session } = chat;
      const target = { owner, session, reason: "asked", sizes: compactionSizes } as const;
      await compactSession(compactionDeps(store), target);
      const { log } = contractRig;
      await restoreEpoch({ log, ids }, { owner, session }, 0);
      afterNext("entries", () => undo({ log, ids }, { owner, session }, 2));
      const deps = { log: compactionDeps(store).log, ids };
      expect(await restoreEpoch(deps, { owner, session }, 1)).toMatchObject({
        status: "refused",
        code: "head_moved",
      });
    });

    test("[P14] fsck accounts for all of it", async () => {
      expect(await fsckFindings(contractRig.store)).toEqual([]);
    });
  },
);
