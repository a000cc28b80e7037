import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";

import { contractSuite, useRig } from "@holdfast/testing/contracts/contract-suite";
import { openObservedRig } from "@holdfast/testing/contracts/contract-rig";
import type { ObservableDatabase } from "@holdfast/testing/contracts/test-database";
import { type WatchedStore, watchStore } from "@holdfast/testing/contracts/wrapped-stores";
import { type ManualClock, manualClock, nextTurn } from "@holdfast/testing/fakes/manual-clock";
import {
  calls,
  fails,
  gate,
  says,
  type Script,
  scriptedModel,
} from "@holdfast/testing/fakes/scripted-model";
import { createTestAgent } from "@holdfast/testing/rigs/agent-rig";
import { assertPresent, type TestSession } from "@holdfast/testing/fixtures/open-session";
import {
  createGate,
  createRunner,
  createTool,
  okResult,
  transcriptLines,
  until,
  untilRecorded,
  untilStreamed,
  type RigDeps,
} from "@holdfast/testing/rigs/run-rig";

import { AgentCache } from "../src/agents/cache.ts";
import { type CachedContext, cachedContextBytes } from "../src/context/session-context.ts";
import { createLog } from "../src/log/log.ts";
import type { Store } from "../src/ports/store.ts";
import type { Tool } from "../src/ports/tool.ts";

export const runCheckpointsContract = contractSuite<ObservableDatabase>(
  "checkpoints of a run",
  (factory) => {
    const rig = useRig(() => openObservedRig(factory));
    let other: Store;
    beforeAll(async () => {
      other = await rig.database.open();
    });
    afterAll(() => other.close());

    let watched: WatchedStore;
    let clock: ManualClock;
    beforeEach(() => {
      watched = watchStore(rig.store);
      clock = manualClock();
    });

    function runnerFor(script: Script, deps: RigDeps = {}) {
      const { store } = watched;
      const model = scriptedModel(script);
      return createRunner(store, createLog(store), { model, clock, deps });
    }

    const toolsNamed = (...names: string[]): ReadonlyMap<string, Tool> =>
      new Map(names.map((name) => [name, createTool(name, async () => okResult("done"))]));

    const seenElsewhere = async (chat: TestSession) =>
      transcriptLines(await chat.through(other).entries());

    test("[S3.7] each tool that ends is a checkpoint that includes the accepted prompt", async () => {
      const { chat } = await rig.send("Do both");
      const seen: string[][] = [];
      watched.onCommitted = async (types) => {
        if (types.includes("tool.ended")) seen.push(await seenElsewhere(chat));
      };
      const runner = runnerFor([[calls("one"), calls("two")], says("Both done.")], {
        tools: toolsNamed("one", "two"),
      });
      runner.notify(chat.owner, chat.session);
      await runner.idle();
      expect(watched.trace.filter((line) => line === "answered tool.ended")).toHaveLength(2);
      expect(seen).toEqual([
        ["user: Do both", "assistant: calls one|calls two"],
        ["user: Do both", "assistant: calls one|calls two"],
      ]);
    });

    test("[S3.8] a model that thinks for five minutes writes nothing but its lease", async () => {
      const thought = createGate();
      const { chat } = await rig.send("Think");
      const runner = runnerFor([[gate(thought.promise), says("Thought.")]]);
      runner.notify(chat.owner, chat.session);
      await until(() => watched.trace.some((line) => /^answered .*step.started$/.test(line)));
      const written = await rig.observe();
      const sent = watched.trace.length;
      for (let beat = 1; beat <= 30; beat += 1) {
        await clock.advance(10_000);
        await until(() => watched.renewals() === beat);
      }
      expect(watched.trace.slice(sent)).toEqual([]);
      expect(await written()).toEqual(["leases"]);
      thought.open();
      await runner.idle();
    });

    test("[S3.8] a runner without work writes nothing for a whole day", async () => {
      const looks = { live: 0 };
      const work = {
        ...rig.store.work,
        async live(limit: number) {
          const found = await rig.store.work.live(limit);
          looks.live += 1;
          return found;
        },
      };
      const runner = runnerFor([], { work });
      const written = await rig.observe();
      runner.start();
      for (let hour = 1; hour <= 24; hour += 1) {
        await until(() => looks.live === hour);
        await until(() => clock.sleepers === 2);
        await clock.advance(3_600_000);
      }
      await runner.stop();
      expect(watched.trace).toEqual([]);
      expect(watched.renewals()).toBe(0);
      expect(await written()).toEqual([]);
    });

    test.each(["without a spill folder", "with a spill folder, as hosts have"])(
      "[S3.9] checkpoints end with their run, and no timer remains: %s",
      async (how) => {
        const folder = mkdtempSync(join(tmpdir(), "holdfast-checkpoints-"));
        onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
        const spills = how.startsWith("with ") ? await factory.spills.open(folder) : undefined;
        const [first, second] = [createGate(), createGate()];
        const { chat } = await rig.send("Talk");
        const script = [[says("One. "), gate(first.promise), calls("look")], says("Two.")];
        const runner = runnerFor(script, {
          spills,
          tools: new Map([
            ["look", createTool("look", async () => (await second.promise, okResult("seen")))],
          ]),
        });
        runner.notify(chat.owner, chat.session);
        await untilStreamed({ chat }, "One. ");
        await clock.advance(10_000);
        await until(() => watched.renewals() === 1);
        first.open();
        await untilRecorded({ chat }, "tool.started");
        second.open();
        await runner.idle();
        expect(clock.sleepers).toBe(0);
        expect(watched.trace.at(-1)).toBe("answered message.assistant+run.state");
        const { length } = watched.trace;
        const written = await rig.observe();
        await clock.advance(3_600_000);
        expect(watched.trace).toHaveLength(length);
        expect(await written()).toEqual([]);
        expect(factory.spills.files(folder)).toEqual([]);
      },
    );

    test("[S3.11] text, tools and the end of a run move the last activity forward", async () => {
      const [words, call, result] = [createGate(), createGate(), createGate()];
      const { chat } = await rig.send("Talk");
      const look = createTool("look", async () => (await result.promise, okResult("seen")));
      const script = [gate(words.promise), says("One. "), gate(call.promise), calls("look")];
      const runner = runnerFor([script, says("Two.")], { tools: new Map([["look", look]]) });
      runner.notify(chat.owner, chat.session);
      const steps = [
        () => untilRecorded({ chat }, "step.started"),
        () => (words.open(), untilStreamed({ chat }, "One. ")),
        () => (call.open(), untilRecorded({ chat }, "tool.started")),
        () => (result.open(), runner.idle()),
      ];
      const times: number[] = [];
      for (const step of steps) {
        await step();
        times.push((await chat.row()).activityAt);
        rig.advanceClock(60_000);
      }
      const started = assertPresent(times[0]);
      for (const [index, time] of times.entries())
        expect(time).toBeGreaterThanOrEqual(started + index * 60_000);
    });

    test("[S3.13] the last checkpoint is answered before the settlement is sent", async () => {
      const { chat } = await rig.send("Talk");
      const delta = watched.holdNext("message.delta");
      const runner = runnerFor([says("So be it.")]);
      runner.notify(chat.owner, chat.session);
      await delta.reached;
      for (let turns = 0; turns < 20; turns += 1) await nextTurn();
      const before = await chat.row();
      delta.release();
      await runner.idle();
      expect(before).toMatchObject({ version: 2, openDeltas: 0, liveState: "running" });
      expect(watched.trace.slice(-4)).toEqual([
        "sent message.delta",
        "answered message.delta",
        "sent message.assistant+run.state",
        "answered message.assistant+run.state",
      ]);
    });

    test.each<[string, Script, RigDeps, string, RegExp]>([
      ["ends without a word", [[]], {}, "empty_reply", /without a word/],
      [
        "fails without a word",
        [fails("auth", { message: "No key." })],
        {},
        "scripted_auth",
        /No key/,
      ],
      [
        "has no model that can be opened",
        [],
        { modelFor: () => Promise.reject(new Error("There is no such model.")) },
        "not_set_up",
        /There is no such model/,
      ],
      [
        "has no system prompt",
        [],
        {
          system() {
            throw new Error("The persona cannot be read.");
          },
        },
        "not_set_up",
        /The persona cannot be read/,
      ],
    ])(
      "[S3.14] a turn that %s is settled once, with its first error",
      async (_how, script, deps, cause, words) => {
        const errors: unknown[] = [];
        const onError = (error: unknown) => void errors.push(error);
        const first = await rig.send("Hello?");
        const { chat } = first;
        const broken = runnerFor(script, { ...deps, onError });
        broken.notify(chat.owner, chat.session);
        await broken.idle();
        await broken.sweep();
        await broken.idle();
        expect(errors).toEqual([]);
        expect(await first.run()).toMatchObject({ state: "failed", cause, attempt: 0 });
        expect(await first.terminalStates()).toEqual(["failed"]);
        expect(await first.transcript()).toEqual(["user: Hello?", `notice: ${cause}`]);
        expect((await chat.entries()).at(-1)?.data["text"]).toMatch(words);
        expect(await chat.row()).toMatchObject({ liveRun: null, openDeltas: 0 });
        expect(await rig.store.leases.read("run", chat.session)).toBeNull();
        expect(clock.sleepers).toBe(0);

        const next = await rig.send("And now?", { chat });
        const sound = runnerFor([says("Here I am.")], { onError });
        sound.notify(chat.owner, chat.session);
        await sound.idle();
        expect((await next.transcript()).at(-1)).toBe("assistant: Here I am.");
        expect(errors).toEqual([]);
      },
    );

    test("[S3.14] an agent that cannot be built or fails is reported once, and serves the next turn", async () => {
      const errors: unknown[] = [];
      const onError = (error: unknown) => void errors.push(error);
      const script: Script = (_request, before) =>
        before === 0 ? fails("auth", { message: "No key." }) : says("Here I am.");
      const model = scriptedModel(script);
      let builds = 0;
      const agents = new AgentCache<CachedContext>({
        factory: {
          signature: async () => "same",
          async build() {
            if ((builds += 1) === 1) throw new Error("There is no such model.");
            return { ...createTestAgent(), model };
          },
        },
        clock,
        limits: { bytes: 10_000_000, count: 10, idleMs: 3_600_000, baselines: 8 },
        beforeClose: async () => {},
        memory: () => "enough",
        sizeOf: cachedContextBytes,
        closeBudgetMs: 10_000,
        onError,
      });
      const runner = runnerFor(script, { agents, onError });
      const first = await rig.send("Hello?");
      const { chat } = first;
      const work = async () => {
        runner.notify(chat.owner, chat.session);
        await runner.idle();
      };
      await work();
      expect(await first.terminalStates()).toEqual(["failed"]);
      expect((await chat.entries()).at(-1)?.data["text"]).toMatch(/There is no such model/);
      const second = await rig.send("And now?", { chat });
      await work();
      expect(await second.terminalStates()).toEqual(["failed"]);
      expect((await chat.entries()).at(-1)?.data["text"]).toMatch(/No key/);
      const third = await rig.send("And now?", { chat });
      await work();
      expect(await third.terminalStates()).toEqual(["completed"]);
      expect((await third.transcript()).at(-1)).toBe("assistant: Here I am.");
      expect([builds, errors, clock.sleepers]).toEqual([2, [], 0]);
      await runner.stop();
    });

    test("[P7] a tool does not start before its start is recorded", async () => {
      let starts = 0;
      const { chat } = await rig.send("Pay");
      const pay = createTool("pay", async () => ((starts += 1), okResult("paid")));
      const runner = runnerFor([calls("pay"), says("Paid.")], { tools: new Map([["pay", pay]]) });
      const start = watched.holdNext("tool.started");
      runner.notify(chat.owner, chat.session);
      await start.reached;
      for (let turns = 0; turns < 20; turns += 1) await nextTurn();
      expect(starts).toBe(0);
      start.release();
      await runner.idle();
      expect(starts).toBe(1);
    });
  },
);
