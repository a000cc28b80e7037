import { expect, test } from "vitest";

import { type Fence, ids, type NewEvent, type RunState, type SessionId } from "@holdfast/protocol";
import { contractSuite, useRig } from "@holdfast/testing/contracts/contract-suite";
import { fsckFindings } from "@holdfast/testing/conformance/harness";
import {
  abandonAndRecover,
  copySpills,
  createOutage,
  openLateJournalRig,
  silence,
  type SpillHome,
  summarizeEntries,
  untilSpilled,
} from "@holdfast/testing/contracts/late-journal-rig";
import { withMembers } from "@holdfast/testing/contracts/wrapped-stores";
import { type ManualClock, manualClock } from "@holdfast/testing/fakes/manual-clock";
import {
  calls,
  gate,
  says,
  type Script,
  scriptedModel,
  uses,
} from "@holdfast/testing/fakes/scripted-model";
import { aHolder } from "@holdfast/testing/fixtures/factories";
import { assertPresent } from "@holdfast/testing/fixtures/open-session";
import {
  createGate,
  createRunner,
  createTool,
  okResult,
  until as comesTo,
  type RigDeps,
} from "@holdfast/testing/rigs/run-rig";

import { createLog } from "../src/log/log.ts";
import type { LeaseResult } from "../src/ports/lease.ts";
import type { Model } from "../src/ports/model.ts";
import type { SpillStore } from "../src/ports/spill.ts";
import type { SpillState } from "../src/recovery/spill.ts";

/** Two thirds of a lease: a runner that could not renew it has stopped by then. */
async function outlast(clock: ManualClock): Promise<void> {
  for (let elapsedMs = 0; elapsedMs < 20_000; elapsedMs += 500) await clock.advance(500);
}

export const spillContract = contractSuite("a run that loses its store", (factory) => {
  const rig = useRig(() => openLateJournalRig(factory));

  async function start(script: Script, rest: RigDeps = {}) {
    const outage = createOutage(rig.store);
    const clock = manualClock();
    const home = await rig.createHome();
    const storing: SpillState[] = [];
    const runner = createRunner(outage.store, createLog(outage.store), {
      model: scriptedModel(script),
      clock,
      deps: {
        spills: home.journals,
        onSpillState: (_, spillState) => storing.push(spillState),
        ...rest,
      },
    });
    const sent = await rig.send("Begin");
    runner.notify(sent.chat.owner, sent.chat.session);
    /** In small steps: time must not pass faster than a lease can be renewed. */
    const pass = () => clock.advance(5);
    const until = (condition: () => Promise<boolean> | boolean) =>
      comesTo(async () => {
        await pass();
        return condition();
      });
    const stored = (text: string) =>
      until(async () => JSON.stringify(await sent.chat.events()).includes(text));
    const spills = (text: string) => untilSpilled(home, sent.chat.session, text, pass);
    const ends = (state: RunState) => until(async () => (await sent.run()).state === state);
    async function endOutage(): Promise<void> {
      outage.isDown = false;
      outage.dropsAnswers = false;
      await until(() => storing.includes("restored"));
    }
    return {
      said: sent,
      outage,
      clock,
      home,
      storing,
      runner,
      stored,
      until,
      spills,
      ends,
      comeBack: endOutage,
      read: () => rig.read(runner, sent.chat),
    };
  }

  test("[P5] spilled output is not shown; once the store is back, the run continues as if nothing had happened", async () => {
    const [more, rest] = [createGate(), createGate()];
    const reply = [
      says("It was "),
      gate(more.promise),
      says("a dark"),
      gate(rest.promise),
      says(" night."),
      uses({ output: 7 }),
    ];
    const run = await start([reply]);
    await run.stored("It was ");
    run.outage.isDown = true;
    more.open();
    await run.spills("a dark");
    expect(JSON.stringify(await run.said.chat.events())).not.toContain("dark");
    expect(run.storing).toEqual(["local"]);
    await run.comeBack();
    rest.open();
    await run.ends("completed");
    expect(summarizeEntries(await run.read())).toEqual([
      "user: Begin",
      "assistant: It was a dark night.",
    ]);
    await run.until(() => run.home.files().length === 0);
    expect(await run.said.run()).toMatchObject({ attempt: 0 });
  });

  test("a commit whose answer was lost is not written twice", async () => {
    const more = createGate();
    const reply = [says("It was "), gate(more.promise), says("a dark night.")];
    const run = await start([reply]);
    await run.stored("It was ");
    await run.until(() => run.outage.unanswered === 0);
    run.outage.dropsAnswers = true;
    more.open();
    await run.stored("dark night");
    await run.until(() => run.storing.includes("local"));
    await run.comeBack();
    await run.ends("completed");
    expect(summarizeEntries(await run.read())).toEqual([
      "user: Begin",
      "assistant: It was a dark night.",
    ]);
  });

  test("[P7] a call requested during the outage does not start before the store is back", async () => {
    const more = createGate();
    let started = 0;
    const look = createTool("look", async () => ((started += 1), okResult("rain")));
    const reply = [says("It was "), gate(more.promise), says("wet."), calls("look")];
    const tools = new Map([["look", look]]);
    const script = [reply, says("Indeed.")];
    const run = await start(script, { tools });
    await run.stored("It was ");
    run.outage.isDown = true;
    more.open();
    await run.spills("wet.");
    for (let turns = 0; turns < 10; turns += 1) await run.clock.advance(200);
    expect(started).toBe(0);
    await run.comeBack();
    await run.ends("completed");
    expect(started).toBe(1);
    expect(summarizeEntries(await run.read())).toEqual([
      "user: Begin",
      "assistant: It was wet.|calls look",
      "tool: ok rain",
      "assistant: Indeed.",
    ]);
  });

  test("[P7] the end of a running tool is kept, and known after a take-over", async () => {
    const done = createGate();
    const pay = createTool("pay", async () => (await done.promise, okResult("paid")));
    const tools = new Map([["pay", pay]]);
    const run = await start([calls("pay")], { tools });
    await run.stored("tool.started");
    run.outage.isDown = true;
    done.open();
    await run.spills("paid");
    await outlast(run.clock);
    await run.runner.idle();
    const next = rig.recoverer(run.home, { policy: "resume", tools }, [says("It is paid.")]);
    await next.sweep();
    await next.idle();
    expect(summarizeEntries(await rig.read(next, run.said.chat))).toEqual([
      "user: Begin",
      "assistant: calls pay",
      "tool: ok paid*",
      "notice: recovered",
      "assistant: It is paid.",
    ]);
  });

  test("a stream that ends during the outage is sealed, the runner gives up in time, and the model is not called again", async () => {
    const more = createGate();
    const reply = [says("It was "), gate(more.promise), says("a dark night."), uses({ output: 7 })];
    const run = await start([reply]);
    await run.stored("It was ");
    run.outage.isDown = true;
    more.open();
    await run.spills("night");
    // By its own clock, a third of the lease before anybody else could hold it.
    await outlast(run.clock);
    await run.until(() => run.storing.includes("left"));
    await run.runner.idle();
    const { runId, chat } = run.said;
    const kept = await rig.createHome();
    copySpills(run.home, kept);
    const memoryOwnerOf = () => ({ provider: "notes", configuration: "one" });
    const next = rig.recoverer(run.home, { policy: "resume", memoryOwnerOf });
    await next.sweep();
    await next.idle();
    expect(await run.said.run()).toMatchObject({ state: "completed" });
    const transcript = ["user: Begin", "assistant: It was a dark night.*", "notice: recovered"];
    expect(summarizeEntries(await rig.read(next, chat))).toEqual(transcript);
    const used = await rig.store.reads.usage(chat.owner, { runId });
    expect(used).toMatchObject({ output: 7, calls: 1 });
    const { marks } = await rig.store.reads.unremembered(chat.owner, chat.session, 10);
    expect(marks.map((mark) => mark.runId)).toEqual([runId]);
    // As if the runner had died before it removed the file.
    copySpills(kept, run.home);
    const again = rig.recoverer(run.home);
    await again.sweep();
    await again.idle();
    expect(summarizeEntries(await rig.read(again, chat))).toEqual(transcript);
  });

  test("when even the file takes no more, the model is stopped and the person is told", async () => {
    const [more, evenMore] = [createGate(), createGate()];
    const reply = [
      says("It was "),
      gate(more.promise),
      says("a dark"),
      gate(evenMore.promise),
      says(" and stormy"),
      says(" night."),
    ];
    const home: SpillHome = await rig.createHome();
    const full = { status: "failed", code: "spill_full", message: "no space" } as const;
    const journals = { ...home.journals, begin: async () => full };
    const run = await start([reply], { spills: journals });
    await run.stored("It was ");
    run.outage.isDown = true;
    more.open();
    await run.until(() => run.storing.includes("stopped"));
    evenMore.open();
    await run.comeBack();
    await run.ends("failed");
    expect(await run.said.run()).toMatchObject({ cause: "nowhere_to_store" });
    expect(summarizeEntries(await run.read())).toEqual([
      "user: Begin",
      "assistant: It was a dark and stormy",
      "notice: nowhere_to_store",
    ]);
  });

  test("a model that is faster than the disk is slowed down: memory use stays bounded", async () => {
    const [more, slow] = [createGate(), createGate()];
    const home: SpillHome = await rig.createHome();
    let sent = 0;
    let writes = 0;
    const piece = "x".repeat(16 * 1024);
    const model: Model = {
      async *stream() {
        yield { kind: "text", text: "It was " };
        await more.promise;
        for (; sent < 40; sent += 1) yield { kind: "text", text: piece };
      },
    };
    const journals: SpillStore = {
      ...home.journals,
      async begin(header) {
        const openedFile = await home.journals.begin(header);
        if (openedFile.status === "failed") return openedFile;
        const append = async (events: readonly NewEvent[]) => {
          writes += 1;
          await slow.promise;
          return openedFile.file.append(events);
        };
        return { status: "begun", file: { ...openedFile.file, append } };
      },
    };
    const modelFor = async () => ({ name: "fast", model });
    const run = await start([], { spills: journals, modelFor });
    await run.stored("It was ");
    run.outage.isDown = true;
    more.open();
    await run.until(() => writes === 1);
    for (let turns = 0; turns < 50; turns += 1) await run.clock.advance(5);
    // What is being written, plus as much again that may be waiting.
    expect(sent * piece.length).toBeLessThan(600 * 1024);
    expect(sent).toBeLessThan(40);
    slow.open();
    await run.comeBack();
    await run.ends("completed");
    expect(sent).toBe(40);
  });

  /** A runner that loses the session's lease to another one just before its first commit there. */
  function overtakenRunner(home: SpillHome, session: SessionId) {
    const { leases } = rig.store;
    let taken: Promise<LeaseResult> | undefined;
    const take = async (): Promise<LeaseResult> => {
      const { kind, fence: replacing } = assertPresent(await leases.read("run", session));
      return leases.acquire({ kind, session, holder: aHolder(), ttlMs: 30_000, replacing });
    };
    const store = withMembers(rig.store, {
      async commit(commit) {
        if (commit.session === session) await (taken ??= take());
        return rig.store.commit(commit);
      },
    });
    return createRunner(store, createLog(store), {
      model: scriptedModel([]),
      dead: () => true,
      deps: { spills: home.journals, policy: "off" },
    });
  }

  test("[P5] a take-over that is not stored leaves the spill to the next one", async () => {
    const home = await rig.createHome();
    const away = createGate();
    const reply = [says("It was "), gate(away.promise), says("a dark night."), silence];
    const { said, outage } = await rig.abandonRun([reply], home);
    const { chat } = said;
    await comesTo(async () => JSON.stringify(await chat.events()).includes("It was "));
    outage.isDown = true;
    away.open();
    await untilSpilled(home, chat.session, "dark night");
    const overtaken = overtakenRunner(home, chat.session);
    await overtaken.sweep();
    await overtaken.idle();
    expect(home.files()).toHaveLength(1);
    const runner = rig.recoverer(home);
    await runner.sweep();
    await runner.idle();
    expect(summarizeEntries(await rig.read(runner, chat)).slice(1)).toEqual([
      "assistant: It was a dark night.*",
      "notice: recovered",
    ]);
    expect(home.files()).toEqual([]);
  });

  test("[S4.2] a late journal that is not stored stays for the next reader", async () => {
    const { chat, there, here, read } = await abandonAndRecover(rig);
    copySpills(there, here);
    await rig.read(overtakenRunner(here, chat.session), chat);
    expect(here.files()).toHaveLength(1);
    const lease = assertPresent(await rig.store.leases.read("run", chat.session));
    await rig.store.leases.release(lease);
    expect(summarizeEntries(await read()).slice(1)).toEqual([
      "assistant: It was ",
      "assistant: a dark night.*",
      "notice: recovered",
    ]);
    expect(here.files()).toEqual([]);
  });

  test("a spill that was begun without output is removed once its run is over", async () => {
    const home = await rig.createHome();
    const { said, runner } = await rig.abandonRun([says("Done.")], home);
    const { owner, session } = said.chat;
    await comesTo(async () => (await said.run()).state === "completed");
    await runner.idle();
    const { place } = home.journals;
    const fence = 1 as Fence;
    const header = { owner, session, runId: said.runId, place, fence, ingestId: ids.make("event") };
    const begun = await home.journals.begin(header);
    if (begun.status !== "begun") throw new Error(JSON.stringify(begun));
    await begun.file.close();
    expect(home.files()).toHaveLength(1);
    await rig.recoverer(home).sweep();
    expect(home.files()).toEqual([]);
    expect(await said.transcript()).toEqual(["user: Begin", "assistant: Done."]);
  });

  test("[P14] fsck accounts for all of it", async () => {
    expect(await fsckFindings(rig.store)).toEqual([]);
  });
});
