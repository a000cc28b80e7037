import { type EventData, ids, type StoredEvent } from "@holdfast/protocol";
import { memoryHarness } from "@holdfast/store/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { Tool, ToolResult } from "../ports/index.ts";
import {
  aHolder,
  calls,
  createRunner,
  fails,
  gate,
  hang,
  manualClock,
  openRunRig,
  type RunRig,
  says,
  scriptedModel,
  type StoreHarness,
  turn,
} from "../testing/index.ts";
import { requestCancel } from "./index.ts";

let harness: StoreHarness;
beforeEach(async () => {
  harness = await memoryHarness.open();
});
afterEach(() => harness.close());

/** The conversation in short: role and text, tools with their outcome. */
function told(entries: readonly StoredEvent[]): string[] {
  return entries.map((entry) => {
    if (entry.type === "notice.added") return `notice: ${String(entry.data["kind"])}`;
    const { parts } = entry.data as EventData<"message.assistant">;
    const said = parts.map((part) => {
      if (part.type === "text") return part.text;
      if (part.type === "tool_call") return `calls ${part.name}`;
      return part.type === "tool_result" ? `${part.outcome} ${part.output}` : part.type;
    });
    return `${entry.type.replace("message.", "")}: ${said.join("|")}`;
  });
}

/** A promise that the test keeps. */
function gated() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { promise, open: resolve };
}

async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  for (let turns = 0; turns < 1_000; turns += 1) {
    if (await condition()) return;
    await turn();
  }
  throw new Error("It did not come to that.");
}

/** Resolves when so much text is durable. */
async function streamed(rig: RunRig, text: string): Promise<void> {
  await until(async () =>
    (await rig.chat.events()).some((event) => String(event.data["text"]).includes(text)),
  );
}

function tool(name: string, run: Tool["run"], rest: Partial<Tool> = {}): Tool {
  return { name, description: name, input: {}, replay: "never", timeLimitMs: 60_000, run, ...rest };
}

const ok = (output: string): ToolResult => ({ outcome: "ok", output });

describe("a turn", () => {
  test("a message is answered, and the run is completed once", async () => {
    const rig = await openRunRig(harness.store, { model: scriptedModel([says("Good ", "day.")]) });
    const { runId } = await rig.say("Hello");
    await rig.work();
    expect(told(await rig.entries())).toEqual(["user: Hello", "assistant: Good day."]);
    expect(await rig.run(runId)).toMatchObject({ state: "completed", step: 1 });
    expect(await rig.chat.row()).toMatchObject({
      liveRun: null,
      openDeltas: 0,
      lastState: "completed",
    });
    expect(await harness.store.leases.read("run", rig.chat.session)).toBeNull();
  });

  test("a message that comes while another is answered stands behind the answer", async () => {
    const first = gated();
    const rig = await openRunRig(harness.store, {
      model: scriptedModel([[says("One"), gate(first.promise)], says("Two")]),
    });
    await rig.say("First");
    rig.runner.poke(rig.chat.owner, rig.chat.session);
    await streamed(rig, "One");
    await rig.say("Second");
    first.open();
    await rig.work();
    expect(told(await rig.entries())).toEqual([
      "user: First",
      "assistant: One",
      "user: Second",
      "assistant: Two",
    ]);
  });

  test("a message that steers is given to the model before its next step", async () => {
    const running = gated();
    const look = tool("look", async () => (await running.promise, ok("seen")));
    const model = scriptedModel([calls("look"), says("As you wish.")]);
    const rig = await openRunRig(harness.store, { model, tools: [look] });
    await rig.say("Look");
    rig.runner.poke(rig.chat.owner, rig.chat.session);
    await until(async () => (await rig.chat.events()).some(({ type }) => type === "tool.started"));
    const steer = await rig.say("But quickly", { mode: "steer" });
    running.open();
    await rig.work();
    expect(told(await rig.entries())).toEqual([
      "user: Look",
      "assistant: calls look",
      "tool: ok seen",
      "user: But quickly",
      "assistant: As you wish.",
    ]);
    expect(await rig.run(steer.runId)).toMatchObject({ state: "completed", cause: "steered" });
  });

  test("a message that interrupts ends the run and goes before what waits", async () => {
    const model = scriptedModel([[says("Well"), hang], says("At once."), says("Later.")]);
    const clock = manualClock();
    const rig = await openRunRig(harness.store, { model, clock });
    const first = await rig.say("Tell me everything");
    rig.runner.poke(rig.chat.owner, rig.chat.session);
    await streamed(rig, "Well");
    await rig.say("And then this");
    await rig.say("Stop, this first", { mode: "interrupt" });
    rig.runner.start();
    await clock.advance(600);
    await clock.advance(5_000);
    await rig.work();
    await rig.runner.stop();
    expect(told(await rig.entries())).toEqual([
      "user: Tell me everything",
      "assistant: Well",
      "user: Stop, this first",
      "assistant: At once.",
      "user: And then this",
      "assistant: Later.",
    ]);
    expect(await rig.run(first.runId)).toMatchObject({ state: "cancelled" });
  });
});

describe("tools", () => {
  test("a tool is recorded as started before it starts, and its result reaches the model", async () => {
    const seen: string[] = [];
    const rig: RunRig = await openRunRig(harness.store, {
      model: scriptedModel([
        [says("Let me see. "), calls("count", { to: 2 })],
        (request) => says(`It said: ${request.messages.at(-1)?.role === "tool" ? "3" : "nothing"}`),
      ]),
      tools: [
        tool("count", async (_call, { write }) => {
          seen.push(...(await rig.chat.events()).map(({ type }) => type));
          write("1, ");
          write("2");
          return ok("3");
        }),
      ],
    });
    await rig.say("Count");
    await rig.work();
    expect(seen.at(-1)).toBe("tool.started");
    expect(told(await rig.entries())).toEqual([
      "user: Count",
      "assistant: Let me see. |calls count",
      "tool: ok 3",
      "assistant: It said: 3",
    ]);
  });

  test.each<[string, Tool["run"], string]>([
    ["throws", () => Promise.reject(new Error("broken")), "failed broken"],
    ["fails", async () => ({ outcome: "failed", output: "no" }), "failed no"],
  ])("a tool that %s has failed, and the run goes on", async (_name, run, result) => {
    const rig = await openRunRig(harness.store, {
      model: scriptedModel([calls("it"), says("I see.")]),
      tools: [tool("it", run)],
    });
    await rig.say("Do it");
    await rig.work();
    expect(told(await rig.entries()).slice(2)).toEqual([`tool: ${result}`, "assistant: I see."]);
  });

  test("a tool that does not end is stopped at its time limit, and left alone if it ignores that", async () => {
    const clock = manualClock();
    const rig = await openRunRig(harness.store, {
      model: scriptedModel([calls("it"), says("I see.")]),
      tools: [tool("it", () => new Promise(() => {}), { timeLimitMs: 1_000 })],
      clock,
    });
    await rig.say("Do it");
    rig.runner.poke(rig.chat.owner, rig.chat.session);
    await until(async () => (await rig.chat.events()).some(({ type }) => type === "tool.started"));
    await clock.advance(1_000);
    await clock.advance(5_000);
    await rig.runner.idle();
    expect(told(await rig.entries())[2]).toMatch(/^tool: failed .*left alone/);
  });
});

describe("when the model fails", () => {
  test("a passing failure is tried again, and what it had said stays", async () => {
    const clock = manualClock();
    const rig = await openRunRig(harness.store, {
      model: scriptedModel([
        [says("Half a"), fails("overloaded", { retryAfterMs: 7_000 })],
        says("A whole."),
      ]),
      clock,
    });
    const { runId } = await rig.say("Say it");
    rig.runner.poke(rig.chat.owner, rig.chat.session);
    await until(async () => (await rig.entries()).length === 2);
    await clock.advance(6_900);
    expect(await rig.run(runId)).toMatchObject({ state: "running" });
    await clock.advance(200);
    await rig.runner.idle();
    expect(told(await rig.entries())).toEqual([
      "user: Say it",
      "assistant: Half a",
      "assistant: A whole.",
    ]);
    expect(await rig.run(runId)).toMatchObject({ state: "completed", step: 1 });
  });

  test.each(["auth", "refused", "fatal"] as const)(
    "%s ends the run with its code, in words for the person",
    async (kind) => {
      const rig = await openRunRig(harness.store, {
        model: scriptedModel([fails(kind, { code: "because" })]),
      });
      const { runId } = await rig.say("Say it");
      await rig.work();
      expect(await rig.run(runId)).toMatchObject({ state: "failed", cause: "because" });
      expect(told(await rig.entries())).toEqual(["user: Say it", "notice: because"]);
    },
  );

  test("[S3.14] a turn that fails without a word is settled, and the next message is answered", async () => {
    const rig = await openRunRig(harness.store, { model: scriptedModel([[], says("Here I am.")]) });
    const { runId } = await rig.say("Hello?");
    await rig.work();
    expect(await rig.run(runId)).toMatchObject({ state: "failed", cause: "empty_reply" });
    await rig.say("Again?");
    await rig.work();
    expect(told(await rig.entries()).at(-1)).toBe("assistant: Here I am.");
  });
});

describe("cancel", () => {
  test("[P6] what was said stays, the run ends cancelled, and asking again changes nothing", async () => {
    const clock = manualClock();
    const rig = await openRunRig(harness.store, {
      model: scriptedModel([[says("So far"), hang]]),
      clock,
    });
    const { runId } = await rig.say("Talk");
    rig.runner.poke(rig.chat.owner, rig.chat.session);
    await streamed(rig, "So far");
    rig.runner.start();
    expect(await requestCancel(rig.log, ids, rig.chat.owner, runId)).toEqual({
      status: "requested",
    });
    expect(await requestCancel(rig.log, ids, rig.chat.owner, runId)).toEqual({
      status: "requested",
    });
    await clock.advance(600);
    await clock.advance(5_000);
    await rig.runner.idle();
    await rig.runner.stop();
    expect(await rig.run(runId)).toMatchObject({ state: "cancelled" });
    expect(told(await rig.entries())).toEqual(["user: Talk", "assistant: So far"]);
    expect((await rig.entries())[1]?.data["partial"]).toBe("cancelled");
    expect(await requestCancel(rig.log, ids, rig.chat.owner, runId)).toEqual({ status: "ended" });
  });

  test("a message that waits is taken back, and its run never begins", async () => {
    const rig = await openRunRig(harness.store, { model: scriptedModel([]) });
    const { runId } = await rig.say("Never mind");
    expect(await requestCancel(rig.log, ids, rig.chat.owner, runId)).toEqual({ status: "ended" });
    await rig.work();
    expect(await rig.entries()).toEqual([]);
    expect((await rig.chat.snapshot()).inbox).toEqual([]);
  });
});

describe("take-over", () => {
  /** A runner that is gone: it streams and is never heard of again. */
  async function leaveBehind(
    reply: Parameters<typeof scriptedModel>[0],
    tools: readonly Tool[] = [],
  ) {
    const holder = aHolder();
    const rig = await openRunRig(harness.store, { model: scriptedModel(reply), holder, tools });
    const { runId } = await rig.say("Begin");
    rig.runner.poke(rig.chat.owner, rig.chat.session);
    return { rig, runId, dead: (each: { nonce: string }) => each.nonce === holder.nonce };
  }

  test("[P4] a run whose holder is dead goes on at once, with what it had said above a notice", async () => {
    const { rig, runId, dead } = await leaveBehind([[says("It was a dark"), hang]]);
    await streamed(rig, "dark");
    const model = scriptedModel([says("and stormy night.")]);
    const second = createRunner(harness.store, rig.log, { model, dead });
    await second.sweep();
    await second.idle();
    expect(told(await rig.entries())).toEqual([
      "user: Begin",
      "assistant: It was a dark",
      "notice: recovered",
      "assistant: and stormy night.",
    ]);
    expect(await rig.run(runId)).toMatchObject({ state: "completed", attempt: 1 });
    const ends = (await rig.chat.events()).filter(
      ({ type, data }) => type === "run.state" && data["state"] === "completed",
    );
    expect(ends).toHaveLength(1);
  });

  test("[P7] a tool that was running is unknown, to the person and to the model, and does not run again", async () => {
    let started = 0;
    const never = tool("pay", () => ((started += 1), new Promise(() => {})));
    const { rig, dead } = await leaveBehind([calls("pay")], [never]);
    await until(() => started === 1);
    const model = scriptedModel([says("I will look first.")]);
    const second = createRunner(harness.store, rig.log, { model, dead, tools: [never] });
    await second.sweep();
    await second.idle();
    expect(started).toBe(1);
    expect(told(await rig.entries())).toEqual([
      "user: Begin",
      "assistant: calls pay",
      "tool: unknown ",
      "notice: recovered",
      "assistant: I will look first.",
    ]);
    expect(model.requests[0]?.messages.at(-1)).toMatchObject({
      role: "tool",
      output: expect.stringContaining("not known"),
    });
  });

  test("[P7] a tool that says that it may be replayed runs again under the same call", async () => {
    const starts: string[] = [];
    const safe = tool(
      "read",
      ({ callId }, { write }) => {
        starts.push(callId);
        write("some output");
        return starts.length === 1 ? new Promise(() => {}) : Promise.resolve(ok("the whole"));
      },
      { replay: "safe" },
    );
    const { rig, dead } = await leaveBehind([calls("read")], [safe]);
    await streamed(rig, "some output");
    const second = createRunner(harness.store, rig.log, {
      model: scriptedModel([says("Read.")]),
      dead,
      tools: [safe],
    });
    await second.sweep();
    await second.idle();
    expect(new Set(starts).size).toBe(1);
    expect(told(await rig.entries()).slice(-2)).toEqual(["tool: ok the whole", "assistant: Read."]);
    expect((await rig.chat.row()).openDeltas).toBe(0);
  });

  test("a holder that may be alive is left alone until its lease has run out, by both clocks", async () => {
    const { rig, runId } = await leaveBehind([[says("Slow"), hang]]);
    await streamed(rig, "Slow");
    const clock = manualClock();
    const second = createRunner(harness.store, rig.log, {
      model: scriptedModel([says("Taken.")]),
      clock,
    });
    await second.sweep();
    await harness.advanceClock(31_000);
    await second.sweep();
    await second.idle();
    expect(await rig.run(runId)).toMatchObject({ state: "running", attempt: 0 });
    await clock.advance(15_000);
    await second.sweep();
    await second.idle();
    expect(await rig.run(runId)).toMatchObject({ state: "completed", attempt: 1 });
  });

  test.each([
    ["ask", "paused"],
    ["off", "interrupted"],
  ] as const)("by the policy %s the run is %s", async (policy, state) => {
    const { rig, runId, dead } = await leaveBehind([[says("Once"), hang]]);
    await streamed(rig, "Once");
    const second = createRunner(harness.store, rig.log, {
      model: scriptedModel([]),
      dead,
      deps: { policy },
    });
    await second.sweep();
    await second.idle();
    expect(await rig.run(runId)).toMatchObject({ state });
  });

  test("[P6] a run that was cancelled while its runner was gone ends cancelled and is not resumed", async () => {
    const { rig, runId, dead } = await leaveBehind([[says("Once"), hang]]);
    await streamed(rig, "Once");
    await requestCancel(rig.log, ids, rig.chat.owner, runId);
    const second = createRunner(harness.store, rig.log, { model: scriptedModel([]), dead });
    await second.sweep();
    await second.idle();
    expect(await rig.run(runId)).toMatchObject({ state: "cancelled" });
  });
});
