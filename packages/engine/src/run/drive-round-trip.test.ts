import type { Json } from "@holdfast/protocol";
import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { ModelMessage } from "../ports/model.ts";
import {
  createTool,
  okResult,
  transcriptLines,
  modelMessageLine,
  until,
  openRunRig,
} from "@holdfast/testing/rigs/run-rig";
import {
  calls,
  fails,
  says,
  scriptedModel,
  type ScriptedStep,
  thinks,
} from "@holdfast/testing/fakes/scripted-model";
import { manualClock } from "@holdfast/testing/fakes/manual-clock";
import { assertPresent } from "@holdfast/testing/fixtures/open-session";
import { type StoreHarness } from "@holdfast/testing/conformance/harness";

let harness: StoreHarness;
beforeEach(async () => {
  harness = await referenceHarness.open();
});
afterEach(() => harness.close());

const signed = (signature: string, text = ""): ScriptedStep => ({
  kind: "reasoning",
  text,
  opaque: { signature },
});
const look = () => createTool("look", async () => okResult("seen"));

function withoutIds(message: ModelMessage | undefined) {
  if (message?.role !== "assistant") return message;
  return message.parts.map((part) => ({ ...part, ...("callId" in part && { callId: "…" }) }));
}

describe("opaque provider data", () => {
  test("is sent back with its part, in the order the model produced it, byte for byte", async () => {
    const opaque = { id: "call_7", kept: { deep: ["\u0000", "\ud83d\ude00"] } };
    const model = scriptedModel([
      [
        thinks("First ", "this."),
        signed("sig-1"),
        signed("sig-2", "Then that."),
        // Only the provider can read it.
        { kind: "reasoning", text: "", opaque: { redacted: "x7" } },
        says("I will "),
        { kind: "text", text: "look.", opaque: { phase: "commentary" } },
        thinks("Unsigned."),
        { kind: "call", name: "look", input: { at: 1 }, opaque },
      ],
      says("Done."),
    ]);
    const rig = await openRunRig(harness.store, { model, tools: [look()] });
    await rig.say("Look");
    await rig.work();
    expect(withoutIds(model.requests[1]?.messages.at(-2))).toEqual([
      { kind: "reasoning", text: "First this.", opaque: { signature: "sig-1" } },
      { kind: "reasoning", text: "Then that.", opaque: { signature: "sig-2" } },
      { kind: "reasoning", text: "", opaque: { redacted: "x7" } },
      { kind: "text", text: "I will look.", opaque: { phase: "commentary" } },
      { kind: "reasoning", text: "Unsigned." },
      { kind: "call", callId: "…", name: "look", input: { at: 1 }, opaque },
    ]);
  });

  test("is sent back the same by a runner that reads the conversation anew", async () => {
    const script = [[signed("sig", "Hm."), says("Yes.")], says("Again.")] as const;
    const model = scriptedModel([...script, says("Once more.")]);
    const rig = await openRunRig(harness.store, { model });
    for (const text of ["One", "Two", "Three"]) {
      await rig.say(text);
      await rig.work();
    }
    const [, second, third] = model.requests;
    expect(assertPresent(third).messages.slice(0, 4)).toEqual(assertPresent(second).messages);
  });
});

describe("malformed arguments", () => {
  test("run nothing and ask nobody, and the model is told in the next step", async () => {
    let runs = 0;
    const tool = createTool("look", async () => ((runs += 1), okResult("seen")));
    const model = scriptedModel([
      [{ kind: "call", name: "look", input: '{"at": ', malformed: true }, calls("look", {})],
      says("I see."),
    ]);
    const approval = (input: Json) => (typeof input === "string" ? "ask" : "none");
    const rig = await openRunRig(harness.store, { model, tools: [{ ...tool, approval }] });
    const { runId } = await rig.say("Look");
    await rig.work();
    expect(runs).toBe(1);
    expect(await rig.run(runId)).toMatchObject({ state: "completed" });
    const results = assertPresent(model.requests[1]).messages.slice(-2).map(modelMessageLine);
    expect(results).toEqual([expect.stringContaining("not a JSON object"), "tool: seen"]);
  });
});

describe("a truncated answer", () => {
  test("is followed by a notice from then on, so that no request ends with the model's own words", async () => {
    const model = scriptedModel([
      [says("It was a "), fails("overloaded", { retryAfterMs: 7_000 })],
      says("dark night."),
      says("Bye."),
    ]);
    const clock = manualClock();
    const rig = await openRunRig(harness.store, { model, clock });
    await rig.say("Tell");
    rig.runner.notify(rig.chat.owner, rig.chat.session);
    await until(async () => transcriptLines(await rig.entries()).length === 2);
    await clock.advance(8_000);
    await rig.runner.idle();
    await rig.say("Thanks");
    await rig.work();
    const [, again, next] = model.requests.map(({ messages }) => messages.map(modelMessageLine));
    expect(again?.slice(1)).toEqual([
      "user: Tell",
      "assistant: It was a ",
      "notice: [host: the answer above ended early (failed).]",
    ]);
    expect(next?.slice(0, 4)).toEqual(again);
    expect(transcriptLines(await rig.entries())).toContain("assistant: It was a ");
  });
});
