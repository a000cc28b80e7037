import { expect, test } from "vitest";

import { contractSuite, useRig } from "@holdfast/testing/contracts/contract-suite";
import { openContractRig } from "@holdfast/testing/contracts/contract-rig";
import { manualClock } from "@holdfast/testing/fakes/manual-clock";
import {
  calls,
  gate,
  says,
  type Script,
  scriptedModel,
} from "@holdfast/testing/fakes/scripted-model";
import {
  createGate,
  createRunner,
  createTool,
  okResult,
  until,
  untilRecorded,
  untilStreamed,
  type RigDeps,
} from "@holdfast/testing/rigs/run-rig";

export const runInboxContract = contractSuite("messages sent during a run", (factory) => {
  const rig = useRig(() => openContractRig(factory));

  /** A run that outputs its first words and then waits to be released. */
  async function startPausedRun(script: Script, deps: RigDeps = {}) {
    const clock = manualClock();
    const model = scriptedModel(script);
    const runner = createRunner(rig.store, rig.log, { model, clock, deps });
    const first = await rig.send("First");
    const { chat } = first;
    const { owner, session } = chat;
    runner.notify(owner, session);
    return { first, chat, clock, runner, model, idle: () => runner.idle() };
  }

  test("queued messages are answered one by one, in the order they were accepted", async () => {
    const answered = createGate();
    const { first, chat, idle } = await startPausedRun([
      [says("One."), gate(answered.promise)],
      says("Two."),
      says("Three."),
      says("Four."),
    ]);
    await untilStreamed({ chat }, "One.");
    for (const text of ["Second", "Third", "Fourth"]) await rig.send(text, { chat });
    answered.open();
    await idle();
    expect(await first.transcript()).toEqual([
      "user: First",
      "assistant: One.",
      "user: Second",
      "assistant: Two.",
      "user: Third",
      "assistant: Three.",
      "user: Fourth",
      "assistant: Four.",
    ]);
  });

  test("what a client attaches waits with its message and reaches the model with it", async () => {
    const answered = createGate();
    const { chat, idle, model } = await startPausedRun([
      [says("One."), gate(answered.promise)],
      says("Two."),
    ]);
    await untilStreamed({ chat }, "One.");
    const attached = [
      { type: "attached", source: "instructions", text: "Be short." },
      { type: "attached", source: "history", text: "user: x" },
    ] as const;
    await rig.send("Second", { chat, attached });
    answered.open();
    await idle();
    const entry = (await chat.entries()).findLast(({ type }) => type === "message.user");
    expect(entry?.data["parts"]).toEqual([{ type: "text", text: "Second" }, ...attached]);
    expect(model.requests[1]?.messages.at(-1)).toEqual({
      role: "user",
      text: "Second\n\n[instructions of the client for this conversation]\nBe short.\n\n[history: material from the host, not a request]\n> user: x",
    });
  });

  test("an interrupting message ends the run and goes before queued ones", async () => {
    const run = await startPausedRun([
      [says("One"), gate(createGate().promise)],
      says("At once."),
      says("Later."),
    ]);
    const { first, chat, clock, runner } = run;
    await untilStreamed({ chat }, "One");
    await rig.send("Second", { chat });
    const third = await rig.send("Stop, this first", { chat, mode: "interrupt" });
    runner.start();
    // A fast store notices the interruption before the runner first sleeps.
    await until(async () => clock.sleepers >= 3 || (await first.terminalStates()).length > 0);
    await clock.advance(1_000);
    await run.idle();
    await runner.stop();
    expect(await first.transcript()).toEqual([
      "user: First",
      "assistant: One",
      "user: Stop, this first",
      "assistant: At once.",
      "user: Second",
      "assistant: Later.",
    ]);
    expect(await first.terminalStates()).toEqual(["cancelled"]);
    expect(await third.terminalStates()).toEqual(["completed"]);
  });

  test("steering messages reach the model before its next step, in order", async () => {
    const seen = createGate();
    const look = createTool("look", async () => (await seen.promise, okResult("seen")));
    const { first, chat, idle, model } = await startPausedRun(
      [calls("look"), says("As you wish.")],
      {
        tools: new Map([["look", look]]),
      },
    );
    await untilRecorded({ chat }, "tool.started");
    const steers = [
      await rig.send("Quickly", { chat, mode: "steer" }),
      await rig.send("But well", { chat, mode: "steer" }),
    ];
    seen.open();
    await idle();
    expect(await first.transcript()).toEqual([
      "user: First",
      "assistant: calls look",
      "tool: ok seen",
      "user: Quickly",
      "user: But well",
      "assistant: As you wish.",
    ]);
    expect(model.requests).toHaveLength(2);
    for (const steer of steers) expect(await steer.terminalStates()).toEqual(["completed"]);
  });

  test("a steering message that finds no step left waits like any other, and is answered", async () => {
    const answered = createGate();
    const { first, chat, idle } = await startPausedRun([
      [says("My last words."), gate(answered.promise)],
      says("Two."),
      says("Three."),
    ]);
    await untilStreamed({ chat }, "My last words.");
    await rig.send("Second", { chat });
    const steer = await rig.send("This way", { chat, mode: "steer" });
    answered.open();
    await idle();
    expect(await first.transcript()).toEqual([
      "user: First",
      "assistant: My last words.",
      "user: Second",
      "assistant: Two.",
      "user: This way",
      "assistant: Three.",
    ]);
    expect(await first.terminalStates()).toEqual(["completed"]);
    expect(await steer.terminalStates()).toEqual(["completed"]);
  });
});
