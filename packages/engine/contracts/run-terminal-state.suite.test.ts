import { writeFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";

import { runState, type RunState } from "@holdfast/protocol";
import { contractSuite, useRig } from "@holdfast/testing/contracts/contract-suite";
import { openContractRig, type SentMessage } from "@holdfast/testing/contracts/contract-rig";
import type { Peer } from "@holdfast/testing/contracts/peer";
import type { SharedDatabase } from "@holdfast/testing/contracts/test-database";
import { watchStore } from "@holdfast/testing/contracts/wrapped-stores";
import { manualClock } from "@holdfast/testing/fakes/manual-clock";
import { hang, says, scriptedModel } from "@holdfast/testing/fakes/scripted-model";
import { aRunState, aUserMessage } from "@holdfast/testing/fixtures/factories";
import { assertPresent } from "@holdfast/testing/fixtures/open-session";
import { createRunner, until, untilStreamed } from "@holdfast/testing/rigs/run-rig";

import { createLog } from "../src/log/log.ts";

export const runTerminalStateContract = contractSuite<SharedDatabase>("a run", (factory) => {
  const rig = useRig(() => openContractRig(factory));
  let elsewhere: Peer;
  beforeAll(async () => {
    elsewhere = await rig.database.startPeer("process");
  });
  afterAll(() => elsewhere.end());

  /** A runner finds the expired leases of others and takes over their runs. */
  async function takeOverExpired(): Promise<void> {
    const clock = manualClock();
    const model = scriptedModel([says("Theirs.")]);
    const taker = createRunner(rig.store, rig.log, { model, clock });
    await taker.sweep();
    rig.advanceClock(31_000);
    await clock.advance(15_000);
    await taker.sweep();
    await taker.idle();
  }

  test("[P3] a runner paused past its lease is refused, and mixes nothing into its successor's work", async () => {
    const reply = [says("Mine. "), hang, says("Mine again. ")];
    const continueReply = `${rig.effects}.go-on`;
    await elsewhere.runs.work({ replies: { "Talk on": [reply] }, hangUntil: continueReply });
    const sent = await rig.send("Talk on");
    await untilStreamed(sent, "Mine. ");
    elsewhere.signal("SIGSTOP");
    try {
      await takeOverExpired();
      writeFileSync(continueReply, "");
      elsewhere.signal("SIGCONT");
      await until(async () => (await elsewhere.runs.refusals()).includes("fenced"));
      await elsewhere.runs.stop();
    } finally {
      elsewhere.signal("SIGCONT");
    }
    expect(await sent.run()).toMatchObject({ state: "completed", attempt: 1 });
    expect(await sent.terminalStates()).toEqual(["completed"]);
    expect(await sent.transcript()).toEqual([
      "user: Talk on",
      "assistant: Mine. ",
      "notice: recovered",
      "assistant: Theirs.",
    ]);
    expect(JSON.stringify(await sent.chat.events())).not.toContain("Mine again.");
  });

  test("[P4] an ending commit in flight during a take-over is refused", async () => {
    const watched = watchStore(rig.store);
    const model = scriptedModel([says("Mine.")]);
    const late = createRunner(watched.store, createLog(watched.store), { model });
    const sent = await rig.send("End it");
    const settlement = watched.holdNext("message.assistant");
    late.notify(sent.chat.owner, sent.chat.session);
    await settlement.reached;
    await takeOverExpired();
    settlement.release();
    await late.idle();
    expect(await sent.terminalStates()).toEqual(["completed"]);
    expect(await sent.transcript()).toEqual([
      "user: End it",
      "assistant: Mine.",
      "notice: recovered",
      "assistant: Theirs.",
    ]);
  });

  test("[P4] when two runners find the same abandoned runs, each run is ended once, by one of them", async () => {
    const left = await Promise.all(
      Array.from({ length: 12 }, (_, n) => abandonedRun("claimed", `Orphan ${n}`)),
    );
    const model = scriptedModel(() => says("Found."));
    const here = createRunner(rig.store, rig.log, { model });
    const there = elsewhere.runs.work({ replies: {}, otherwise: says("Found.") });
    await Promise.all([there, here.sweep()]);
    for (const sent of left) {
      await until(async () => (await sent.run()).state === "completed");
      expect(await sent.terminalStates()).toEqual(["completed"]);
      expect((await sent.transcript()).slice(1)).toEqual(["assistant: Found."]);
    }
    await here.idle();
    await elsewhere.runs.stop();
  });

  test("[P4] whatever state a run is in, new input is accepted and answered", async () => {
    const talks = await Promise.all(
      runState.options.map(async (state) => {
        const first = await abandonedRun(state, "First");
        const { chat } = first;
        const second = await rig.send("Second", { chat });
        // A run that waits for a person would make the others wait too.
        const rests = state === "waiting" || state === "paused";
        const third = await rig.send("Third", { chat, ...(rests && { mode: "interrupt" }) });
        return { state, rests, first, second, third };
      }),
    );
    const runner = createRunner(rig.store, rig.log, { model: scriptedModel(() => says("Aye.")) });
    await runner.sweep();
    await runner.idle();
    const asked = ["user: Second", "user: Third"];
    for (const { state, rests, first, second, third } of talks) {
      const expectedOrder = (await first.transcript()).filter((line) => asked.includes(line));
      const ends = [await second.terminalStates(), await third.terminalStates()];
      expect({ state, expectedOrder, ends, first: (await first.terminalStates()).length }).toEqual({
        state,
        expectedOrder: rests ? asked.toReversed() : asked,
        ends: [["completed"], ["completed"]],
        first: 1,
      });
    }
  });

  /** A run that somebody brought to this state and then abandoned. */
  async function abandonedRun(state: RunState, text: string): Promise<SentMessage> {
    const sent = await rig.send(text);
    if (state === "queued") return sent;
    const { chat, runId } = sent;
    const lease = await chat.lease();
    const under = { lease: "run", fence: lease.fence } as const;
    const { messageId } = assertPresent((await chat.snapshot()).inbox[0]);
    const claimed = [aRunState(runId, "claimed"), aUserMessage(text, messageId, runId)];
    const later = state === "claimed" ? [] : [aRunState(runId, "running"), aRunState(runId, state)];
    await chat.commit([...claimed, ...later], { under });
    await rig.store.leases.release(lease);
    return sent;
  }
});
