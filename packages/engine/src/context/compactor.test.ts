import { ids } from "@holdfast/protocol";
import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { afterEach, beforeEach, expect, test } from "vitest";

import { type Compaction, compactSession } from "./compact.ts";
import { createCompactionLock } from "./compaction-lock.ts";
import { aHolder } from "@holdfast/testing/fixtures/factories";
import {
  fails,
  says,
  scriptedModel,
  type Script,
  uses,
} from "@holdfast/testing/fakes/scripted-model";
import { manualClock, nextTurn } from "@holdfast/testing/fakes/manual-clock";
import { openRunRig, transcriptLines, until } from "@holdfast/testing/rigs/run-rig";
import { type StoreHarness } from "@holdfast/testing/conformance/harness";
import { type ContextFit, createCompactor } from "./compactor.ts";

let harness: StoreHarness;
beforeEach(async () => {
  harness = await referenceHarness.open();
});
afterEach(() => harness.close());

const long = (text: string) => `${text} ${"word ".repeat(100)}`.trim();

/** A session whose model has a window of this many tokens, and the compactions requested. */
async function openTight(script: Script, windowTokens: number | null) {
  const asked: string[] = [];
  const done: Compaction[] = [];
  const model = scriptedModel(script);
  const clock = manualClock();
  const rig = await openRunRig(harness.store, {
    model,
    clock,
    deps: {
      get fit(): ContextFit {
        return {
          windowOf: () => windowTokens,
          async compact(run, reason, { windowTokens: window, epoch }) {
            asked.push(reason);
            const result = await compactSession(
              {
                log: rig.log,
                ids,
                lock: createCompactionLock(harness.store.leases),
                holder: () => aHolder(),
                count: (text) => Math.ceil(text.length / 4),
                summariser: {
                  summarise: async () => ({ status: "summarised", text: "In short." }),
                },
              },
              {
                owner: run.owner,
                session: run.session,
                reason,
                epoch,
                sizes: { tailTokens: window * 0.3, summaryTokens: window * 0.1 },
              },
            );
            done.push(result);
            return result;
          },
        };
      },
    },
  });
  return { rig, model, asked, done, clock };
}

test("[S0.12] a nearly full context is compacted before its model is called", async () => {
  const { rig, model, asked } = await openTight(
    (_request, before) => says(long(`Answer ${before}`)),
    1_000,
  );
  for (const text of ["one", "two", "three", "four", "five"]) {
    await rig.say(long(text));
    await rig.work();
  }
  expect(new Set(asked)).toEqual(new Set(["preflight"]));
  const last = JSON.stringify(model.requests.at(-1));
  expect(last).toContain("In short.");
  expect(last).not.toContain("two word");
  expect(
    transcriptLines(await rig.entries()).filter((line) => line.startsWith("user")),
  ).toHaveLength(5);
});

test("[S0.12] a model that finds its context too long is called again with a shorter one, in the same run", async () => {
  const { rig, model, asked } = await openTight(
    (_request, before) =>
      before === 3 ? fails("overflow", { code: "too_long" }) : says(long(`Answer ${before}`)),
    null,
  );
  for (const text of ["one", "two", "three"]) {
    await rig.say(long(text));
    await rig.work();
  }
  const { runId } = await rig.say(long("four"));
  await rig.work();
  expect(asked).toEqual(["overflow"]);
  expect(await rig.run(runId)).toMatchObject({ state: "completed" });
  expect(JSON.stringify(model.requests.at(-1))).toContain("In short.");
});

test("a context that cannot be shortened ends its run with advice for the person", async () => {
  const { rig } = await openTight(() => [fails("overflow"), uses()], null);
  const { runId } = await rig.say("Short, and yet too long");
  await rig.work();
  expect(await rig.run(runId)).toMatchObject({ state: "failed", cause: "context_too_long" });
});

test("[S0.12] a model is called again after a pause when somebody else is compacting its context", async () => {
  const { rig, model, asked, clock } = await openTight([fails("overflow"), says("Here.")], null);
  const lock = createCompactionLock(harness.store.leases);
  await lock.acquire(rig.chat.session, aHolder({ agent: "other" }));
  const { runId } = await rig.say(long("one"));
  rig.runner.notify(rig.chat.owner, rig.chat.session);
  await until(() => asked.length === 1);
  for (let turns = 0; turns < 50; turns += 1) await nextTurn();
  expect(model.requests).toHaveLength(1);
  await clock.advance(2_000);
  await rig.runner.idle();
  expect(model.requests).toHaveLength(2);
  expect(await rig.run(runId)).toMatchObject({ state: "completed" });
});

test.each([
  ["preflight", 1_000],
  ["overflow", null],
] as const)(
  "[S0.12] a run that would compact (%s) while somebody else holds the lock leaves it to them and answers",
  async (reason, window) => {
    const isTooLong = (before: number) => reason === "overflow" && before === 4;
    const { rig, asked, done, clock } = await openTight(
      (_request, before) => (isTooLong(before) ? fails("overflow") : says(long("Answer"))),
      window,
    );
    const lock = createCompactionLock(harness.store.leases);
    const other = aHolder({ agent: "other" });
    await lock.acquire(rig.chat.session, other);
    for (const text of ["one", "two", "three", "four", "five"]) {
      await rig.say(long(text));
      let isDone = false;
      void rig.work().finally(() => (isDone = true));
      // Whoever finds the lock held waits a moment.
      await until(async () => {
        await clock.advance(2_000);
        return isDone;
      });
    }
    expect(new Set(asked)).toEqual(new Set([reason]));
    expect(new Set(done.map((compaction) => compaction.status))).toEqual(new Set(["deferred"]));
    expect((await rig.chat.row()).epoch).toBe(0);
    expect(await lock.holder(rig.chat.session)).toEqual(other);
  },
);

test("a compaction that a person asks for keeps less than one that makes room", async () => {
  const covered = async (reason: "asked" | "idle") => {
    const { rig } = await openTight((_request, before) => says(long(`Answer ${before}`)), null);
    for (const text of ["one", "two", "three", "four", "five"]) {
      await rig.say(long(text));
      await rig.work();
    }
    const result = await createCompactor(rig.log, ids, {}).compactNow(rig.chat, reason, 1_500);
    if (result.status !== "compacted") throw new Error(JSON.stringify(result));
    return result.covers.to;
  };
  expect(await covered("asked")).toBeGreaterThan(await covered("idle"));
});
