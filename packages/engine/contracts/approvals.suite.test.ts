import { expect, test } from "vitest";

import { type CallId, ids } from "@holdfast/protocol";
import { contractSuite, useRig } from "@holdfast/testing/contracts/contract-suite";
import { fsckFindings } from "@holdfast/testing/conformance/harness";
import { openApprovalRig } from "@holdfast/testing/contracts/approval-rig";
import { openContractRig, type SentMessage } from "@holdfast/testing/contracts/contract-rig";
import { type CrashPoint, withEvent } from "@holdfast/testing/contracts/wrapped-stores";
import { manualClock } from "@holdfast/testing/fakes/manual-clock";
import { calls, fails, says } from "@holdfast/testing/fakes/scripted-model";
import { anApproval, anOwner, aRunState } from "@holdfast/testing/fixtures/factories";
import { assertPresent } from "@holdfast/testing/fixtures/open-session";
import { until } from "@holdfast/testing/rigs/run-rig";

import { branch } from "../src/history/branch.ts";
import { removeInput } from "../src/run/admit.ts";
import { answerApproval } from "../src/run/answer-approval.ts";
import { requestCancel } from "../src/run/cancel.ts";

const hour = 60 * 60 * 1000;
const week = 7 * 24 * hour;

export const approvalsContract = contractSuite("approvals", (factory) => {
  const rig = useRig(() => openContractRig(factory));

  const isWaiting = async ({ run, chat }: Pick<SentMessage, "run" | "chat">): Promise<void> => {
    expect(await run()).toMatchObject({ state: "waiting", attempt: 0 });
    expect(await rig.store.leases.read("run", chat.session)).toBeNull();
  };

  test("[P7] calls that need no approval run and settle first; the rest wait without a lease, and the answer wakes the run", async () => {
    const pair = [says("Both. "), calls("pay", "rent"), calls("look")];
    const it = await openApprovalRig(rig, "Look and pay", [pair, says("Done.")]);
    await it.work();
    await isWaiting(it);
    expect(await it.transcript()).toEqual([
      "user: Look and pay",
      "assistant: Both. |calls pay|calls look",
      "tool: ok seen",
    ]);
    expect(it.effects).toEqual([]);
    const [approval] = await it.open();
    expect(approval).toMatchObject({ tool: "pay", input: "rent", runId: it.runId, state: "open" });
    await rig.send("And then?", { chat: it.chat });
    await it.work();
    expect((await it.chat.snapshot()).inbox).toHaveLength(1);

    expect(await it.answer("once")).toMatchObject({ status: "answered" });
    expect(await it.run()).toMatchObject({ state: "claimed", cause: "answered" });
    const elsewhere = it.runner(rig.store, { policy: "off" });
    await elsewhere.sweep();
    await elsewhere.idle();
    expect(it.effects).toEqual(["rent"]);
    expect(await it.run()).toMatchObject({ state: "completed", attempt: 0 });
    expect((await it.transcript()).slice(3, 5)).toEqual(["tool: ok paid 1", "assistant: Done."]);
  });

  test("[P7] repeating an answer changes nothing, another one is refused, and another owner finds nothing", async () => {
    const it = await openApprovalRig(rig, "Pay twice", [
      [calls("pay", 1), calls("pay", 2)],
      says("Done."),
    ]);
    await it.work();
    const [first, second] = (await it.open()).map(({ id }) => id);
    const answer = (id: typeof first, decision: "once" | "deny", owner = it.chat.owner) =>
      answerApproval(rig.log, ids, owner, assertPresent(id), decision);
    expect(await answer(first, "once", anOwner())).toEqual({ status: "not_found" });
    expect(await answer(first, "once")).toMatchObject({ status: "answered" });
    await isWaiting(it);
    const { head } = await it.chat.row();
    expect(await answer(first, "once")).toMatchObject({ status: "answered" });
    expect(await answer(first, "deny")).toMatchObject({ code: "approval_answered" });
    expect((await it.chat.row()).head).toBe(head);
    const both = await Promise.all([answer(second, "once"), answer(second, "deny")]);
    expect(both.filter(({ status }) => status === "answered")).toHaveLength(1);
    await it.work();
    expect(it.effects.length).toBe(both[0]?.status === "answered" ? 2 : 1);
    expect(await it.terminalStates()).toEqual(["completed"]);
  });

  test("[P7] a denied call does not run, and the model is told so", async () => {
    const it = await openApprovalRig(rig, "Pay if you may", [calls("pay"), says("Then not.")]);
    await it.work();
    await it.answer("deny");
    await it.work();
    expect(it.effects).toEqual([]);
    expect(await it.run()).toMatchObject({ state: "completed" });
    const result = it.model.requests[1]?.messages.at(-1);
    expect(result).toMatchObject({ role: "tool" });
    expect(JSON.stringify(result)).toMatch(/did not allow this, so it was not run/);
  });

  test("[P7] an answer for the session covers the same tool from then on, after a restart too, but no branch", async () => {
    const it = await openApprovalRig(rig, "Pay every month", [
      calls("pay", "May"),
      calls("pay", "June"),
      says("Done."),
    ]);
    await it.work();
    await it.answer("session");
    await it.work();
    expect(it.effects).toEqual(["May", "June"]);
    const { owner, session } = it.chat;
    const found = await rig.store.reads.approvalsFor(owner, session, ids.make("run"));
    expect(found).toMatchObject([{ tool: "pay", decision: "session" }]);
    const branched = await branch({ log: rig.log, ids }, { owner, session });
    if (branched.status !== "branched") throw new Error(JSON.stringify(branched));
    const inherited = await rig.store.reads.approvalsFor(owner, branched.session, ids.make("run"));
    expect(inherited).toEqual([]);
  });

  test("[P7] an approval holds for its arguments: a call with others does not run", async () => {
    const it = await openApprovalRig(rig, "Pay the same", [calls("pay", "rent"), says("I see.")]);
    await it.die({ when: "before", matches: withEvent("approval.asked") });
    const entries = await it.chat.entries();
    const message = assertPresent(entries.findLast(({ type }) => type === "message.assistant"));
    const [part] = message.data["parts"] as [{ callId: CallId }];
    const forged = anApproval(it.runId, { callId: part.callId, name: "pay", input: "a coffee" });
    await it.chat.commit([forged, aRunState(it.runId, "waiting")]);
    await it.answer("once");
    const next = it.runner();
    await next.sweep();
    await next.idle();
    expect(it.effects).toEqual([]);
    expect(await it.transcript()).toContainEqual(
      expect.stringMatching(/^tool: cancelled This is not what/),
    );
    expect(await it.terminalStates()).toEqual(["completed"]);
  });

  test("[P7] an approval nobody answers for seven days is expired by the sweep, its call does not run, and the run continues", async () => {
    const it = await openApprovalRig(rig, "Pay some day", [calls("pay"), says("Never mind.")]);
    await it.work();
    rig.advanceClock(week);
    expect(await it.answer("once")).toMatchObject({ code: "approval_answered" });
    const runner = it.runner();
    await runner.sweep();
    await runner.idle();
    rig.advanceClock(-week);
    expect(it.effects).toEqual([]);
    expect(await it.run()).toMatchObject({ state: "completed" });
    expect(await it.transcript()).toContainEqual(
      expect.stringMatching(/^tool: cancelled Nobody answered/),
    );
  });

  test("[S3.16] cancelling a waiting run ends it at once: no run, no approval, nothing in flight", async () => {
    const it = await openApprovalRig(rig, "Pay or not", [calls("pay")]);
    await it.work();
    const cancelled = await requestCancel(rig.log, ids, it.chat.owner, it.runId);
    expect(cancelled).toEqual({ status: "ended" });
    const { run, journal, session } = await it.chat.snapshot();
    expect([run, journal, session.liveRun, session.liveState]).toEqual([null, [], null, null]);
    expect(await it.open()).toEqual([]);
    expect(await it.terminalStates()).toEqual(["cancelled"]);
    expect((await it.transcript()).at(-1)).toMatch(
      /^tool: cancelled The run ended before this was begun/,
    );
  });

  test("[P7] the end of another run leaves the question open, and its answer wakes the run that asked", async () => {
    const it = await openApprovalRig(rig, "Pay later", [calls("pay", "rent"), says("Done.")]);
    await it.work();
    const { owner, session } = it.chat;
    for (const text of ["Never mind", "Nor this"]) await rig.send(text, { chat: it.chat });
    const [removed, cancelled] = (await it.chat.snapshot()).inbox;
    const { messageId } = assertPresent(removed);
    const removal = await removeInput(rig.log, ids, { owner, session, messageId });
    expect(removal).toMatchObject({ status: "committed" });
    const { runId } = assertPresent(cancelled);
    expect(await requestCancel(rig.log, ids, owner, runId)).toEqual({ status: "ended" });
    await isWaiting(it);
    expect(await it.open()).toMatchObject([{ tool: "pay", state: "open" }]);
    expect(await it.answer("once")).toMatchObject({ status: "answered" });
    await it.work();
    expect(it.effects).toEqual(["rent"]);
    expect(await it.terminalStates()).toEqual(["completed"]);
  });

  test("[P4] a waiting run is not taken over, however long it waits, and its time does not count", async () => {
    const it = await openApprovalRig(rig, "Pay tomorrow", [calls("pay"), says("Done.")]);
    await it.work();
    rig.advanceClock(24 * hour);
    const runner = it.runner();
    for (let sweeps = 0; sweeps < 3; sweeps += 1) await runner.sweep();
    await runner.idle();
    await isWaiting(it);
    await it.answer("once");
    await it.work();
    rig.advanceClock(-24 * hour);
    expect(await it.run()).toMatchObject({ state: "completed" });
    expect(it.effects).toHaveLength(1);
  });

  const claimedAgain: CrashPoint["matches"] = ({ events }) =>
    events.some(({ type, data }) => type === "run.state" && data["attempt"] !== undefined);
  /** Where a process can die, whether the approval was answered by then, and what is known of the effect afterwards. */
  const positions: [string, CrashPoint, "unanswered" | "answered", string, number][] = [
    [
      "before it asks",
      { when: "after", matches: withEvent("message.assistant") },
      "unanswered",
      "ok",
      1,
    ],
    [
      "while it asks",
      { when: "before", matches: withEvent("approval.asked") },
      "unanswered",
      "ok",
      1,
    ],
    [
      "when it has asked",
      { when: "after", matches: withEvent("approval.asked") },
      "unanswered",
      "ok",
      1,
    ],
    ["before it is taken up", { when: "before", matches: claimedAgain }, "answered", "ok", 1],
    ["when it is taken up", { when: "after", matches: claimedAgain }, "answered", "ok", 1],
    [
      "before it starts",
      { when: "before", matches: withEvent("tool.started") },
      "answered",
      "ok",
      1,
    ],
    [
      "when it is started",
      { when: "after", matches: withEvent("tool.started") },
      "answered",
      "unknown",
      0,
    ],
    [
      "when it has run",
      { when: "before", matches: withEvent("tool.ended") },
      "answered",
      "unknown",
      1,
    ],
    ["when it has ended", { when: "after", matches: withEvent("tool.ended") }, "answered", "ok", 1],
    [
      "when it is settled",
      { when: "after", matches: withEvent("message.tool") },
      "answered",
      "ok",
      1,
    ],
  ];
  test.each(positions)(
    "[P7] killed %s: the tool runs at most once, and person and model are told what is known",
    async (name, moment, answered, outcome, effects) => {
      const it = await openApprovalRig(rig, `Killed ${name}`, [calls("pay"), says("Done.")]);
      if (answered === "answered") {
        await it.work();
        await it.answer("once");
      }
      await it.die(moment);
      const next = it.runner();
      await next.sweep();
      await next.idle();
      if (answered === "unanswered") await it.answer("once");
      await next.sweep();
      await next.idle();
      expect(it.effects).toHaveLength(effects);
      expect(await it.terminalStates()).toEqual(["completed"]);
      expect(await it.transcript()).toContainEqual(expect.stringMatching(`^tool: ${outcome} `));
      const result = it.model.requests.at(-1)?.messages.findLast(({ role }) => role === "tool");
      const known = outcome === "unknown" ? /not known whether this took effect/ : /paid 1/;
      expect(JSON.stringify(result)).toMatch(known);
    },
  );

  test("[P4] the tries of a step keep counting after a take-over, and so does the pause before the next", async () => {
    const failing = () => fails("overloaded");
    const it = await openApprovalRig(rig, "Try again", [failing(), failing(), says("Never said.")]);
    const limits = { steps: 20, timeMs: hour, modelTries: 2 };
    const retried = withEvent("run.state", { state: "running", cause: "scripted_overloaded" });
    await it.die({ when: "after", matches: retried }, { limits });
    const clock = manualClock();
    const next = it.runner(rig.store, { limits }, clock);
    await next.sweep();
    await until(async () => (await it.run()).attempt === 1);
    // The renewal of its lease and the pause: what begins to sleep later would not be woken.
    await until(async () => clock.sleepers === 2);
    expect(it.model.requests).toHaveLength(1);
    await clock.advance(500);
    await next.idle();
    expect(it.model.requests).toHaveLength(2);
    expect(await it.run()).toMatchObject({
      state: "failed",
      cause: "scripted_overloaded",
      step: 1,
    });
  });

  test("[P4] a run's time keeps counting after a take-over, by the store's clock", async () => {
    const it = await openApprovalRig(rig, "Take your time", [calls("look"), says("Too late.")]);
    const limits = { steps: 20, timeMs: hour, modelTries: 2 };
    await it.die({ when: "after", matches: withEvent("message.assistant") }, { limits });
    rig.advanceClock(hour + 1);
    const next = it.runner(rig.store, { limits });
    await next.sweep();
    await next.idle();
    rig.advanceClock(-hour - 1);
    expect(await it.run()).toMatchObject({ state: "limit", cause: "time" });
    expect(await it.transcript()).toContainEqual("tool: ok seen");
  });

  test("[P14] all rows stored by these tests follow from the logs", async () => {
    expect(await fsckFindings(rig.store)).toEqual([]);
  });
});
