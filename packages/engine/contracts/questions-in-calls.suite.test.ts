import { expect, test } from "vitest";

import { ids } from "@holdfast/protocol";
import { contractSuite, useRig } from "@holdfast/testing/contracts/contract-suite";
import { fsckFindings } from "@holdfast/testing/conformance/harness";
import { openContractRig } from "@holdfast/testing/contracts/contract-rig";
import { repliesByPrompt } from "@holdfast/testing/contracts/peer-runs";
import { type ManualClock, manualClock } from "@holdfast/testing/fakes/manual-clock";
import { calls, says } from "@holdfast/testing/fakes/scripted-model";
import { aHolder } from "@holdfast/testing/fixtures/factories";
import { assertPresent } from "@holdfast/testing/fixtures/open-session";
import { createRunner, createTool, okResult, until } from "@holdfast/testing/rigs/run-rig";

import { createLog } from "../src/log/log.ts";
import type { PersonsAnswer, Tool } from "../src/ports/tool.ts";
import { answerApproval } from "../src/run/answer-approval.ts";
import { requestCancel } from "../src/run/cancel.ts";

const minuteMs = 60_000;

export const questionsInCallsContract = contractSuite("questions in calls", (factory) => {
  const rig = useRig(() => openContractRig(factory));

  /** A run whose tool asks for a size while it works. */
  async function start(text: string, rest: Partial<Tool> = {}) {
    const clock = manualClock();
    const answers: PersonsAnswer[] = [];
    const unwanted = new AbortController();
    const fit = createTool(
      "fit",
      async (_, { ask }) => {
        const input = { question: "Which size?", choices: ["S", "M"] };
        const question = { input, timeLimitMs: 30 * minuteMs, signal: unwanted.signal };
        const answer = await assertPresent(ask)(question);
        answers.push(answer);
        return okResult(JSON.stringify(answer));
      },
      { timeLimitMs: minuteMs, ...rest },
    );
    const sent = await rig.send(text);
    const { owner, session } = sent.chat;
    const model = repliesByPrompt({ [text]: [calls("fit"), says("Done.")] });
    const createHost = (own: ManualClock = clock) =>
      createRunner(rig.store, createLog(rig.store), {
        model,
        tools: [fit],
        holder: aHolder(),
        dead: () => true,
        clock: own,
        // Time passes in great steps here.
        deps: { leaseMs: 24 * 60 * minuteMs },
      });
    function boot() {
      const runner = createHost();
      runner.notify(owner, session);
      return runner;
    }
    const asked = async () => {
      const list = () => rig.store.reads.approvals(owner, { session, limit: 9 });
      await until(async () => (await list()).approvals.length > 0);
      return assertPresent((await list()).approvals[0]);
    };
    const answer = async (decision: "once" | "deny", words?: string) =>
      answerApproval(rig.log, ids, owner, (await asked()).id, decision, {
        ...(words !== undefined && { answer: words }),
      });
    return { ...sent, clock, answers, unwanted, boot, createHost, asked, answer };
  }

  type Started = Awaited<ReturnType<typeof start>>;

  /** Lets polls and time limits see what has changed. */
  const untilDone = (it: Started, { clock = it.clock, stepMs = 300 } = {}) =>
    until(async () => {
      await clock.advance(stepMs);
      return (await it.terminalStates()).length > 0;
    });

  test("a call that goes on gets the answer, and its time limit waits with it", async () => {
    const it = await start("Fit it");
    it.boot();
    expect((await it.asked()).details).toMatchObject({ kind: "question", inCall: true });
    expect((await it.run()).state).toBe("running");
    // Far beyond the tool's own minute.
    for (let minutes = 0; minutes < 10; minutes += 1) await it.clock.advance(minuteMs);
    await it.answer("once", "M");
    await untilDone(it);
    expect(it.answers).toEqual([{ status: "answered", answer: "M" }]);
    expect(await it.transcript()).toContain('tool: ok {"status":"answered","answer":"M"}');
    expect(await fsckFindings(rig.store)).toEqual([]);
  });

  test("a question is declined by a person, or closed when nobody answers or it is no longer wanted", async () => {
    const declined = await start("Fit it, please");
    declined.boot();
    await declined.answer("deny");
    await untilDone(declined);
    expect(declined.answers).toEqual([{ status: "declined" }]);

    const late = await start("Fit it some time");
    late.boot();
    const question = await late.asked();
    await untilDone(late, { stepMs: minuteMs });
    expect(late.answers).toEqual([{ status: "expired" }]);
    const answered = await answerApproval(rig.log, ids, question.owner, question.id, "once", {
      answer: "M",
    });
    expect(answered).toMatchObject({ status: "refused", code: "approval_answered" });

    const withdrawn = await start("Fit it or leave it");
    withdrawn.boot();
    await withdrawn.asked();
    withdrawn.unwanted.abort();
    await untilDone(withdrawn);
    expect(withdrawn.answers).toEqual([{ status: "expired" }]);
  });

  test("the time limit of a call counts on once its question is answered", async () => {
    const it = await start("Fit it slowly", {
      async run(_, { ask, signal }) {
        await assertPresent(ask)({ input: { question: "Well?" }, timeLimitMs: minuteMs });
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        return { outcome: "failed", output: "was stopped" };
      },
    });
    it.boot();
    await it.answer("once", "M");
    await untilDone(it);
    expect(await it.transcript()).toContainEqual(expect.stringMatching(/The time limit of 60000/));
  });

  test("[P6] a cancel ends a call that waits for an answer, and withdraws the question", async () => {
    const it = await start("Fit it not");
    const runner = it.boot();
    const { id, owner } = await it.asked();
    await requestCancel(rig.log, ids, owner, it.runId);
    runner.notify(owner, it.chat.session);
    await untilDone(it);
    expect(await it.terminalStates()).toEqual(["cancelled"]);
    expect((await rig.store.reads.approval(owner, id))?.state).toBe("withdrawn");
  });

  test("[P7] after the death of its runner a question is closed, and the outcome of its call is unknown", async () => {
    const it = await start("Fit it until it dies");
    // Its clock stands still from here on: this process does nothing more.
    it.boot();
    const { id, owner } = await it.asked();
    const clock = manualClock();
    await it.createHost(clock).sweep();
    await untilDone(it, { clock });
    expect(await rig.store.reads.approval(owner, id)).toMatchObject({
      state: "answered",
      decision: "expired",
    });
    expect(await it.transcript()).toContainEqual(expect.stringMatching(/^tool: unknown/));
    expect(await it.terminalStates()).toEqual(["completed"]);
    expect(await fsckFindings(rig.store)).toEqual([]);
  });
});
