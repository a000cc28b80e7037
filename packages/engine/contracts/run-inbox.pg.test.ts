import type { RunnerDeps } from "../src/run/runner.ts";
import {
  createTool,
  createGate,
  okResult,
  untilRecorded,
  untilStreamed,
  until,
  createRunner,
} from "@holdfast/testing/rigs/run-rig";
import {
  calls,
  gate,
  says,
  type Script,
  scriptedModel,
} from "@holdfast/testing/fakes/scripted-model";
import { manualClock } from "@holdfast/testing/fakes/manual-clock";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { postgresDatabase, sqliteDatabase } from "@holdfast/testing/contracts/test-database";
import { openContractRig, type ContractRig } from "@holdfast/testing/contracts/contract-rig";

const databases = [sqliteDatabase, postgresDatabase(createDatabase)];

describe.each(databases)("what is said while a run goes on, on $name", (kind) => {
  let bed: ContractRig;
  beforeAll(async () => {
    bed = await openContractRig(kind);
  });
  afterAll(() => bed[Symbol.asyncDispose]());

  /** A run that answers with its first words and then waits to be let on. */
  async function aRunThatSays(script: Script, deps: Partial<RunnerDeps> = {}) {
    const clock = manualClock();
    const model = scriptedModel(script);
    const runner = createRunner(bed.store, bed.log, { model, clock, deps });
    const first = await bed.send("First");
    const { chat } = first;
    const { owner, session } = chat;
    runner.notify(owner, session);
    return { first, chat, clock, runner, model, idle: () => runner.idle() };
  }

  test("messages that queue are answered one by one, in the order in which they were accepted", async () => {
    const answered = createGate();
    const { first, chat, idle } = await aRunThatSays([
      [says("One."), gate(answered.promise)],
      says("Two."),
      says("Three."),
      says("Four."),
    ]);
    await untilStreamed({ chat }, "One.");
    for (const text of ["Second", "Third", "Fourth"]) await bed.send(text, { chat });
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

  test("a message that interrupts ends the run and goes before what waits", async () => {
    const run = await aRunThatSays([
      [says("One"), gate(createGate().promise)],
      says("At once."),
      says("Later."),
    ]);
    const { first, chat, clock, runner } = run;
    await untilStreamed({ chat }, "One");
    await bed.send("Second", { chat });
    const third = await bed.send("Stop, this first", { chat, mode: "interrupt" });
    runner.start();
    await until(() => clock.sleepers >= 3);
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

  test("messages that steer reach the model before its next step, in their order", async () => {
    const seen = createGate();
    const look = createTool("look", async () => (await seen.promise, okResult("seen")));
    const { first, chat, idle, model } = await aRunThatSays([calls("look"), says("As you wish.")], {
      tools: new Map([["look", look]]),
    });
    await untilRecorded({ chat }, "tool.started");
    const steers = [
      await bed.send("Quickly", { chat, mode: "steer" }),
      await bed.send("But well", { chat, mode: "steer" }),
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

  test("a message that steers and finds no step left waits like any other, and is answered", async () => {
    const answered = createGate();
    const { first, chat, idle } = await aRunThatSays([
      [says("My last words."), gate(answered.promise)],
      says("Two."),
      says("Three."),
    ]);
    await untilStreamed({ chat }, "My last words.");
    await bed.send("Second", { chat });
    const steer = await bed.send("This way", { chat, mode: "steer" });
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
