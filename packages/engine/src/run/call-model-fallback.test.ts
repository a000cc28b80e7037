import { ids, type StoredEvent } from "@holdfast/protocol";
import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import {
  aHolder,
  anEvent,
  aNotice,
  aRunId,
  aRunState,
  aStep,
} from "@holdfast/testing/fixtures/factories";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import {
  createTool,
  untilStreamed,
  transcriptLines,
  modelMessageLine,
  until,
  createRunner,
  openRunRig,
  type RunRig,
} from "@holdfast/testing/rigs/run-rig";
import {
  calls,
  fails,
  hang,
  says,
  type Script,
  scriptedModel,
} from "@holdfast/testing/fakes/scripted-model";
import { manualClock } from "@holdfast/testing/fakes/manual-clock";
import { type StoreHarness } from "@holdfast/testing/conformance/harness";

import { awaitsFallback } from "./call-model.ts";

let harness: StoreHarness;
beforeEach(async () => {
  harness = await referenceHarness.open();
});
afterEach(() => harness.close());

/** A session's own model and its fallbacks. */
function chainOf(own: Script, ...others: readonly Script[]) {
  const [first, ...rest] = [own, ...others].map(scriptedModel);
  const fallbacks = rest.map((model, n) => ({ name: `other-${n + 1}`, model }));
  return {
    models: [first!, ...rest],
    deps: {
      modelFor: async () => ({ name: "own", model: first!, fallbacks }),
      signature: async () => "model=0a owner=0b",
    },
  };
}

async function open(own: Script, ...others: readonly Script[]) {
  const { models, deps } = chainOf(own, ...others);
  const clock = manualClock();
  const rig = await openRunRig(harness.store, { model: models[0]!, deps, clock });
  return { rig, models, clock, asked: () => models.map(({ requests }) => requests.length) };
}

async function framesOf(rig: RunRig): Promise<readonly unknown[]> {
  const framed = (await rig.chat.events()).filter(({ type }) => type === "context.framed");
  return framed.map(({ data }) => data["cause"]);
}

function answers(events: readonly StoredEvent[]) {
  return events
    .filter(({ type }) => type === "message.assistant")
    .map(({ data }) => ({ model: data["model"], ...(data["request"] as { differs?: unknown }) }));
}

describe("when a model cannot answer", () => {
  test("the next in the chain answers the same step after the usual tries, and the next run starts with the session's own model again", async () => {
    const busy = fails("overloaded", { code: "busy" });
    const { rig, clock, asked } = await open([busy, busy, busy, says("Back.")], [says("Here.")]);
    const { runId } = await rig.say("Hello");
    rig.runner.notify(rig.chat.owner, rig.chat.session);
    for (const tries of [1, 2]) {
      await until(async () => asked()[0] === tries && clock.sleepers > 0);
      await clock.advance(5_000);
    }
    await rig.runner.idle();
    expect(transcriptLines(await rig.entries())).toEqual([
      "user: Hello",
      "notice: model_fallback",
      "assistant: Here.",
    ]);
    expect(await rig.run(runId)).toMatchObject({ state: "completed", step: 1 });
    const steps = (await rig.chat.events()).filter(({ type }) => type === "step.started");
    expect(steps.map(({ data }) => [data["step"], data["model"], data["try"]])).toEqual([
      [1, "own", undefined],
      [1, "own", 1],
      [1, "own", 2],
      [1, "other-1", undefined],
    ]);

    await rig.say("And now?");
    await rig.work();
    expect(asked()).toEqual([4, 1]);
    expect(await framesOf(rig)).toEqual(["first", "model", "model"]);
  });

  test("[P9] the request to a fallback differs from its first block on, and the frame explains it", async () => {
    const { rig } = await open([fails("auth"), says("Mine.")], [says("Here.")]);
    await rig.say("Hello");
    await rig.work();
    await rig.say("Again");
    await rig.work();
    const events = await rig.chat.events();
    const framed = events.filter(({ type }) => type === "context.framed").map(({ seq }) => seq);
    const explained = (seq: unknown) => ({
      block: 0,
      explainedBy: { seq, type: "context.framed" },
    });
    expect(answers(events)).toMatchObject([
      { model: "other-1", differs: explained(framed[1]) },
      { model: "own", differs: explained(framed[2]) },
    ]);
  });

  test("the partial answer stays once, and the fallback sees it and continues to the end of the turn", async () => {
    const tool = createTool("look", async () => ({ outcome: "ok", output: "seen" }));
    const { models, deps } = chainOf(
      [[says("Half a"), fails("auth", { code: "no_key" })]],
      [[says("word."), calls("look")], says("Done.")],
    );
    const rig = await openRunRig(harness.store, { model: models[0]!, deps, tools: [tool] });
    await rig.say("Hello");
    await rig.work();
    expect(transcriptLines(await rig.entries())).toEqual([
      "user: Hello",
      "assistant: Half a",
      "notice: model_fallback",
      "assistant: word.|calls look",
      "tool: ok seen",
      "assistant: Done.",
    ]);
    const [first] = models[1]!.requests;
    expect(
      first?.messages.map(modelMessageLine).filter((line) => line.includes("Half a")),
    ).toHaveLength(1);
    expect(models[0]!.requests).toHaveLength(1);
  });

  test("each fallback is called in order, and when the last one fails so does the run", async () => {
    const { rig, asked } = await open([fails("auth")], [fails("auth")], [fails("auth")]);
    const { runId } = await rig.say("Hello");
    await rig.work();
    expect(asked()).toEqual([1, 1, 1]);
    expect(await rig.run(runId)).toMatchObject({ state: "failed" });
    const notices = (await rig.entries()).filter(({ type }) => type === "notice.added");
    expect(notices.map(({ data }) => data["details"])).toMatchObject([
      { from: "own", to: "other-1" },
      { from: "other-1", to: "other-2" },
      undefined,
    ]);
  });

  test.each(["refused", "fatal", "overflow"] as const)(
    "a model that answers with %s has answered: no fallback is called",
    async (kind) => {
      const { rig, asked } = await open([fails(kind)], [says("Never.")]);
      const { runId } = await rig.say("Hello");
      await rig.work();
      expect(asked()).toEqual([1, 0]);
      expect(await rig.run(runId)).toMatchObject({ state: "failed" });
    },
  );

  test("a model that asks for a long wait is skipped: the fallback answers at once", async () => {
    const wait = fails("overloaded", { retryAfterMs: 3_600_000 });
    const { rig, asked } = await open([wait], [says("Here.")]);
    const { runId } = await rig.say("Hello");
    await rig.work();
    expect(asked()).toEqual([1, 1]);
    expect(await rig.run(runId)).toMatchObject({ state: "completed" });
  });

  test("a take-over calls the same fallback", async () => {
    const holder = aHolder();
    const first = chainOf([fails("auth")], [[says("It was a dark"), hang]]);
    const rig = await openRunRig(harness.store, {
      model: first.models[0]!,
      holder,
      deps: first.deps,
    });
    const { runId } = await rig.say("Hello");
    rig.runner.notify(rig.chat.owner, rig.chat.session);
    await untilStreamed(rig, "dark");
    const second = chainOf([says("Never.")], [says("and stormy night.")]);
    const runner = createRunner(harness.store, rig.log, {
      model: second.models[0]!,
      dead: ({ nonce }) => nonce === holder.nonce,
      deps: second.deps,
    });
    await runner.sweep();
    await runner.idle();
    expect(second.models.map(({ requests }) => requests.length)).toEqual([0, 1]);
    expect(await rig.run(runId)).toMatchObject({ state: "completed" });
  });

  test("a fallback gets all of its tries, even if hosts were killed before they called it", async () => {
    const busy = fails("overloaded", { code: "busy" });
    /** Hosts that die as soon as they know that a fallback has to be called. */
    const gone = [aHolder(), aHolder()];
    const isGone = ({ nonce }: { nonce: string }) =>
      gone.some((goneHolder) => goneHolder.nonce === nonce);
    const hosts = gone.map((holder) => {
      const { models, deps } = chainOf([busy, busy, busy], []);
      const clock = manualClock();
      // The prompt is built once for the session's own model, and once more before the fallback is called.
      const prompts = { count: 0, most: 1 };
      const system = async () => {
        prompts.count += 1;
        return prompts.count > prompts.most ? new Promise<never>(() => {}) : "A prompt.";
      };
      const host = { model: models[0]!, holder, clock, dead: isGone };
      return { ...host, own: models[0]!, prompts, deps: { ...deps, system } };
    });
    const rig = await openRunRig(harness.store, hosts[0]!);
    const { runId } = await rig.say("Hello");
    rig.runner.notify(rig.chat.owner, rig.chat.session);
    const [first, second] = [hosts[0]!, hosts[1]!];
    for (const tries of [1, 2]) {
      await until(() => first.own.requests.length === tries && first.clock.sleepers > 0);
      await first.clock.advance(5_000);
    }
    await until(() => first.prompts.count === 2);
    expect(await rig.run(runId)).toMatchObject({ step: 1, tries: 2 });
    second.prompts.most = 0;
    const next = createRunner(harness.store, rig.log, second);
    await next.sweep();
    await until(() => second.prompts.count === 1);

    const { models, deps } = chainOf([], [busy, busy, says("Here.")]);
    const clock = manualClock();
    const model = models[0]!;
    const last = createRunner(harness.store, rig.log, { model, deps, clock, dead: isGone });
    await last.sweep();
    for (const tries of [1, 2]) {
      await until(() => models[1]!.requests.length === tries && clock.sleepers > 0);
      await clock.advance(5_000);
    }
    await last.idle();
    expect(await rig.run(runId)).toMatchObject({ state: "completed", step: 1 });
    expect(models.map(({ requests }) => requests.length)).toEqual([0, 3]);
  });

  test("a fallback counts as called however much its run wrote before", async () => {
    const chat = await openTestSession(harness.store);
    const runId = aRunId();
    const details = { from: "own", to: "other-1", code: "busy" };
    const notice = { noticeId: ids.make("notice"), kind: "model_fallback", text: "", details };
    await chat.commit([aRunState(runId, "claimed"), anEvent("notice.added", notice, runId)]);
    const run = { owner: chat.owner, session: chat.session, runId };
    const awaits = async () => awaitsFallback(harness.store.reads, run, await chat.entries());
    for (const _ of [1, 2, 3]) await chat.commit(Array.from({ length: 100 }, () => aNotice()));
    expect(await awaits()).toBe(true);
    await chat.commit([aStep(runId)]);
    expect(await awaits()).toBe(false);
  });
});

test("[P9] a frame of very many parts has a signature that can be stored, and a change of one part still says which", async () => {
  const partNames = ["model", "owner", "persona", "workspace", "project", "files", "skills", "off"];
  let skills = "1";
  const signature = async () =>
    partNames.map((name) => `${name}=${(name === "skills" ? skills : "a").repeat(16)}`).join(" ");
  const model = scriptedModel([says("One."), says("Two."), says("Three.")]);
  const rig = await openRunRig(harness.store, { model, deps: { signature } });
  for (const text of ["one", "two"]) {
    await rig.say(text);
    await rig.work();
  }
  skills = "2";
  await rig.say("three");
  await rig.work();
  expect(await framesOf(rig)).toEqual(["first", "skills"]);
  expect(
    transcriptLines(await rig.entries()).filter((line) => line.startsWith("assistant")),
  ).toEqual(["assistant: One.", "assistant: Two.", "assistant: Three."]);
});
