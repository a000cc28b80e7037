import { expect, test } from "vitest";

import { ids, newEvent } from "@holdfast/protocol";
import { addLongTurn } from "@holdfast/testing/contracts/compaction-rig";
import { openContractRig } from "@holdfast/testing/contracts/contract-rig";
import { contractSuite, useRig } from "@holdfast/testing/contracts/contract-suite";
import { manualClock } from "@holdfast/testing/fakes/manual-clock";
import { fails, says, type Script, scriptedModel } from "@holdfast/testing/fakes/scripted-model";
import { aHolder, anOwner } from "@holdfast/testing/fixtures/factories";
import { openTestSession, type TestSession } from "@holdfast/testing/fixtures/open-session";
import { createGate, openRunRig, transcriptLines, until } from "@holdfast/testing/rigs/run-rig";

import { createCompactionLock } from "../src/context/compaction-lock.ts";
import { createCompactor } from "../src/context/compactor.ts";
import { IdleCompactor, type IdleCompactorDeps } from "../src/context/idle-compactor.ts";
import type { Summariser } from "../src/ports/background-models.ts";
import { systemClock } from "../src/ports/clock.ts";

const windowTokens = 1_000;
const restMs = 60_000;
const long = (text: string) => `${text} ${"word ".repeat(100)}`.trim();

/** Every trigger of a compaction, through the compactor that every process uses. */
export const compactionTriggersContract = contractSuite("compaction triggers", (factory) => {
  const rig = useRig(() => openContractRig(factory));

  function aCompactor(summarise: Summariser["summarise"], window: number | null = windowTokens) {
    const summariser = { summarise };
    return createCompactor(rig.log, ids, { summariser, windowOf: () => window });
  }

  const inShort: Summariser["summarise"] = async () => ({
    status: "summarised",
    text: "In short.",
  });

  async function openRuns(script: Script, window: number | null) {
    const model = scriptedModel(script);
    const fit = aCompactor(inShort, window);
    const runs = await openRunRig(rig.store, { model, clock: systemClock, deps: { fit } });
    return { runs, model, chat: runs.chat };
  }

  const numbers = ["one", "two", "three", "four", "five"];

  test("[S0.12] a nearly full context is compacted before its model is called", async () => {
    const answer: Script = (_request, before) => says(long(`Answer ${before}`));
    const { runs, model, chat } = await openRuns(answer, windowTokens);
    for (const text of numbers) {
      await runs.say(long(text));
      await runs.work();
    }
    const last = JSON.stringify(model.requests.at(-1));
    expect(last).toContain("In short.");
    expect(last).not.toContain("two word");
    const questions = transcriptLines(await chat.entries()).filter((line) =>
      line.startsWith("user"),
    );
    expect(questions).toHaveLength(numbers.length);
    expect(await rig.leasesOf(chat)).toEqual([]);
  });

  test("[S0.12] a model that rejects its context as too long is called again with a shorter one, in the same run", async () => {
    const answer: Script = (_request, before) =>
      before === 3 ? fails("overflow", { code: "too_long" }) : says(long(`Answer ${before}`));
    const { runs, model, chat } = await openRuns(answer, null);
    for (const text of numbers.slice(0, 3)) {
      await runs.say(long(text));
      await runs.work();
    }
    const { runId } = await runs.say(long("four"));
    await runs.work();
    expect(await runs.run(runId)).toMatchObject({ state: "completed" });
    expect(JSON.stringify(model.requests.at(-1))).toContain("In short.");
    expect((await chat.row()).epoch).toBe(1);
  });

  test.each([
    ["before a step", windowTokens],
    ["after an overflow", null],
  ] as const)(
    "[S0.12] a run that would compact %s while somebody else holds the lock leaves it to them and completes",
    async (_, window) => {
      const isTooLong = (before: number) => window === null && before === 4;
      const answer: Script = (_request, before) =>
        isTooLong(before) ? fails("overflow") : says(long("Answer"));
      const { runs, model, chat } = await openRuns(answer, window);
      const lock = createCompactionLock(rig.store.leases);
      const other = aHolder({ agent: "other" });
      await lock.acquire(chat.session, other);
      const states: unknown[] = [];
      for (const text of numbers) {
        const { runId } = await runs.say(long(text));
        await runs.work();
        states.push((await runs.run(runId)).state);
      }
      expect(states).toEqual(numbers.map(() => "completed"));
      expect(JSON.stringify(model.requests.at(-1))).toContain("two word");
      expect((await chat.row()).epoch).toBe(0);
      expect(await lock.holder(chat.session)).toEqual(other);
    },
  );

  /** A session whose context fills its model's window. */
  async function openLarge(owner?: TestSession["owner"]): Promise<TestSession> {
    const chat = await openTestSession(rig.store, { model: "small" }, owner);
    for (const text of numbers) await addLongTurn(chat, text);
    return chat;
  }

  /** Compacts idle sessions of one owner. */
  function anIdleCompactor(
    { owner }: Pick<TestSession, "owner">,
    rest: Partial<IdleCompactorDeps> & { readonly summarise?: Summariser["summarise"] } = {},
  ) {
    const clock = manualClock();
    const asked: string[] = [];
    const { summarise = inShort, ...deps } = rest;
    const compactor = aCompactor((request, signal) => {
      asked.push(request.session);
      return summarise(request, signal);
    });
    const idle = new IdleCompactor({
      log: rig.log,
      clock,
      compactor,
      settings: { restMs, fullShare: 0.5 },
      owner,
      mayCallModel: async () => true,
      onError: (error) => {
        throw error;
      },
      ...deps,
    });
    /** Advances the clocks of this process and of the store. */
    async function advance(ms: number): Promise<void> {
      rig.advanceClock(ms);
      await clock.advance(ms);
    }
    return { idle, asked, advance, clock };
  }

  const epochs = (chats: readonly TestSession[]) =>
    Promise.all(chats.map(async (chat) => (await chat.row()).epoch));

  test("[S0.12] a large session that is idle after its run is compacted, without moving in the list", async () => {
    const chat = await openLarge();
    const { owner, session } = chat;
    // Nobody scans this owner's sessions.
    const { idle, advance } = anIdleCompactor({ owner: anOwner() });
    idle.notify(owner, session);
    await idle.sweep();
    expect((await chat.row()).epoch).toBe(0);
    await advance(restMs);
    const before = await chat.row();
    await idle.sweep();
    const { activityAt, sortAt } = before;
    expect(await chat.row()).toMatchObject({ epoch: 1, activityAt, sortAt });
    expect(await rig.leasesOf(chat)).toEqual([]);
    await idle.sweep();
    expect((await chat.row()).epoch).toBe(1);
  });

  test("an idle session that fills less of its model's window than the setting is left alone", async () => {
    const chat = await openLarge();
    const { idle, advance, asked } = anIdleCompactor(chat, {
      settings: { restMs, fullShare: 1.5 },
    });
    await advance(restMs);
    await idle.sweep();
    expect([asked, await epochs([chat])]).toEqual([[], [0]]);
  });

  test("a session that another process has used in the meantime is not idle yet", async () => {
    const chat = await openLarge();
    const { idle, advance, clock } = anIdleCompactor({ owner: anOwner() });
    idle.notify(chat.owner, chat.session);
    // By the store's clock the session was active just now.
    await clock.advance(restMs);
    await idle.sweep();
    expect(await epochs([chat])).toEqual([0]);
    await advance(restMs);
    await idle.sweep();
    expect(await epochs([chat])).toEqual([1]);
  });

  test("[S0.12] a scan finds a large session that another process left, and leaves a small one alone", async () => {
    const chat = await openLarge();
    const small = await openTestSession(rig.store, { model: "small" }, chat.owner);
    await addLongTurn(small, "one");
    const { idle, advance, asked } = anIdleCompactor(chat);
    await advance(restMs);
    await idle.sweep();
    expect(await epochs([chat, small])).toEqual([1, 0]);
    expect(asked).toEqual([chat.session]);
  });

  test.each(["idle", "hygiene"] as const)(
    "[S0.12] an idle compaction (%s) leaves a locked session to the lock's holder, and is made up for later",
    async (reason) => {
      const chat = await openLarge();
      const { idle, advance, asked } = anIdleCompactor(chat);
      const lock = createCompactionLock(rig.store.leases, { ttlMs: 10 * 3_600_000 });
      const other = aHolder({ agent: "other" });
      await lock.acquire(chat.session, other);
      if (reason === "idle") idle.notify(chat.owner, chat.session);
      await advance(restMs);
      await idle.sweep();
      expect([await epochs([chat]), asked]).toEqual([[0], []]);
      expect(await lock.holder(chat.session)).toEqual(other);
      await lock.release(chat.session, other);
      await advance(3_600_000);
      await idle.sweep();
      expect(await epochs([chat])).toEqual([1]);
    },
  );

  test("[S0.11] of two processes that find the same idle session, one compacts it", async () => {
    const chat = await openLarge();
    const mayEnd = createGate();
    const first = anIdleCompactor(chat, {
      async summarise(...args) {
        await mayEnd.promise;
        return inShort(...args);
      },
    });
    const second = anIdleCompactor(chat);
    rig.advanceClock(restMs);
    const sweeping = first.idle.sweep();
    await until(() => first.asked.length === 1);
    await second.idle.sweep();
    expect(second.asked).toEqual([]);
    mayEnd.open();
    await sweeping;
    await second.clock.advance(3_600_000);
    await second.idle.sweep();
    expect([second.asked, await epochs([chat])]).toEqual([[], [1]]);
  });

  test.each(["live run", "queued message"] as const)(
    "a session with a %s is not compacted, however long ago it was used",
    async (what) => {
      const chat = await openLarge();
      if (what === "live run") await chat.startRun();
      else await rig.send("Hello", { chat });
      const { idle, advance, asked } = anIdleCompactor(chat);
      idle.notify(chat.owner, chat.session);
      await advance(restMs);
      await idle.sweep();
      expect([asked, await epochs([chat])]).toEqual([[], [0]]);
    },
  );

  test("a session that is used again while its summary is being written keeps its context", async () => {
    const chat = await openLarge();
    const { idle, advance, asked } = anIdleCompactor(chat, {
      summarise: (_request, signal) =>
        new Promise((resolve) => {
          const end = () => resolve({ status: "failed", code: "aborted", message: "" });
          signal.addEventListener("abort", end, { once: true });
        }),
    });
    await advance(restMs);
    const sweeping = idle.sweep();
    await until(() => asked.length === 1);
    idle.interrupt(chat.session);
    await sweeping;
    expect(await epochs([chat])).toEqual([0]);
    expect(await rig.leasesOf(chat)).toEqual([]);
  });

  test("past the spend limit, no model is asked to summarise an idle session, and no summary is made", async () => {
    const chat = await openLarge();
    let isSpent = true;
    const mayCallModel = async () => !isSpent;
    const { idle, advance, asked } = anIdleCompactor(chat, { mayCallModel });
    await advance(restMs);
    await idle.sweep();
    expect([asked, await epochs([chat])]).toEqual([[], [0]]);
    isSpent = false;
    await advance(3_600_000);
    await idle.sweep();
    expect([asked, await epochs([chat])]).toEqual([[chat.session], [1]]);
  });

  test("a sweep compacts at most two sessions, and the next one continues", async () => {
    const first = await openLarge();
    const chats = [first, await openLarge(first.owner), await openLarge(first.owner)];
    const { idle, advance } = anIdleCompactor(first);
    await advance(restMs);
    await idle.sweep();
    expect((await epochs(chats)).filter((epoch) => epoch === 1)).toHaveLength(2);
    await idle.sweep();
    expect(await epochs(chats)).toEqual([1, 1, 1]);
  });

  test("an idle session whose summary is too long to help is paid for once, until the next message", async () => {
    const chat = await openTestSession(rig.store, { model: "small" });
    // Two turns are covered, and the long one after them stays: twice the length asked for frees too little.
    for (const text of ["one", "two", "three", "y".repeat(1_500)]) await addLongTurn(chat, text);
    const summarise: Summariser["summarise"] = async () => {
      const usage = { model: "small", input: 900, output: 190 };
      await chat.commit([newEvent(ids.make("event"), "usage.recorded", usage)], {
        touch: "quiet",
      });
      return { status: "summarised", text: "x".repeat(4 * 190) };
    };
    const { idle, advance, asked } = anIdleCompactor(chat, { summarise });
    for (let hour = 0; hour < 5; hour += 1) {
      await advance(3_600_000);
      await idle.sweep();
    }
    expect([asked, await epochs([chat])]).toEqual([[chat.session], [0]]);
    await addLongTurn(chat, "six");
    await advance(3_600_000);
    await idle.sweep();
    expect(asked).toHaveLength(2);
  });

  test("an idle session keeps its context while the summarizing model fails", async () => {
    const chat = await openLarge();
    let isAway = true;
    const { idle, advance, asked } = anIdleCompactor(chat, {
      summarise: (...args) =>
        isAway
          ? Promise.resolve({ status: "failed", code: "model_unreachable", message: "Away." })
          : inShort(...args),
    });
    await advance(restMs);
    const { head } = await chat.row();
    await idle.sweep();
    expect([asked, (await chat.row()).head]).toEqual([[chat.session], head]);
    isAway = false;
    await addLongTurn(chat, "six");
    await advance(3_600_000);
    await idle.sweep();
    expect(await epochs([chat])).toEqual([1]);
  });

  test("an idle session is left alone while its model's window is unknown", async () => {
    const chat = await openLarge();
    const windowOf = () => null;
    const { idle, advance, asked } = anIdleCompactor(chat, {
      settings: { restMs, fullShare: 0.5, windowOf },
    });
    await advance(restMs);
    await idle.sweep();
    expect([asked, await epochs([chat])]).toEqual([[], [0]]);
  });

  test("an idle session that cannot be made shorter gets no notice", async () => {
    const chat = await openTestSession(rig.store, { model: "small" });
    for (const text of ["one", "two"]) await addLongTurn(chat, `${text} ${long("more").repeat(2)}`);
    const { idle, advance, asked } = anIdleCompactor(chat);
    const { head } = await chat.row();
    await advance(restMs);
    await idle.sweep();
    expect([asked, (await chat.row()).head]).toEqual([[], head]);
  });
});
