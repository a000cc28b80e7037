import { createIds, type NewEvent } from "@holdfast/protocol";
import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { expect, test } from "vitest";

import { createLog, type Log } from "../log/log.ts";
import { aMessageId, aRunId, aToolStart } from "@holdfast/testing/fixtures/factories";
import { createGate } from "@holdfast/testing/rigs/run-rig";
import { manualClock, nextTurn } from "@holdfast/testing/fakes/manual-clock";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { Journal, Tick } from "./journal.ts";
import { RunHandle } from "./run-handle.ts";

function setUp() {
  const clock = manualClock();
  const fired: string[] = [];
  const tick = new Tick(clock);
  return {
    clock,
    went: fired,
    tick,
    join: (name: string) => tick.join(() => void fired.push(name)),
  };
}

test("the first callback fires at the end of its turn, and later ones together on the next tick", async () => {
  const { clock, went: fired, join } = setUp();
  join("first");
  join("with it");
  expect(fired).toEqual([]);
  await nextTurn();
  expect(fired).toEqual(["first", "with it"]);
  join("second");
  join("third");
  await clock.advance(19);
  expect(fired).toHaveLength(2);
  await clock.advance(1);
  expect(fired).toEqual(["first", "with it", "second", "third"]);
});

test("[S3.9] a cancelled callback does not fire, and with nobody waiting there is no timer", async () => {
  const { clock, went: fired, join } = setUp();
  join("first");
  await nextTurn();
  const cancels = [join("second"), join("third")];
  expect(clock.sleepers).toBe(1);
  for (const cancel of cancels) cancel();
  expect(clock.sleepers).toBe(0);
  await clock.advance(50);
  expect(fired).toEqual(["first"]);
  join("fourth");
  await nextTurn();
  expect(fired).toEqual(["first", "fourth"]);
  expect(clock.sleepers).toBe(0);
});

test("many callbacks fire a few at a time, once each, and the next tick is later for it", async () => {
  const { clock, went: fired, join } = setUp();
  for (let index = 0; index < 1_000; index += 1) join(`run ${index}`);
  await nextTurn();
  expect(fired.length).toBeGreaterThan(0);
  expect(fired.length).toBeLessThanOrEqual(100);
  for (let turns = 0; fired.length < 1_000 && turns < 100; turns += 1) await clock.advance(0);
  expect(new Set(fired).size).toBe(1_000);
  join("one more");
  await clock.advance(49);
  expect(fired).toHaveLength(1_000);
  await clock.advance(1);
  expect(fired.at(-1)).toBe("one more");
});

/** A journal whose commits are recorded before they are made. */
async function openJournal(beforeCommit: () => Promise<void> = async () => undefined) {
  const clock = manualClock();
  const commits: NewEvent[][] = [];
  const { store } = await referenceHarness.open();
  const chat = await openTestSession(store);
  const { head } = await chat.row();
  const log = createLog(store);
  const watched: Log = {
    ...log,
    async commit(commit) {
      commits.push([...commit.events]);
      await beforeCommit();
      return log.commit(commit);
    },
  };
  const runId = aRunId();
  const held = { owner: chat.owner, runId, lease: await chat.lease(), head };
  const run = new RunHandle(watched, createIds(), held, clock);
  const journal = new Journal({ clock, tick: new Tick(clock) }, run);
  const messageId = aMessageId();
  const say = (text: string) => journal.addText({ messageId, part: 0, as: "text", text });
  return { clock, commits, journal, runId, say };
}

test("output until the tick becomes one event, and a flush does not wait for the tick", async () => {
  const slow = createGate();
  const { clock, commits, journal, say } = await openJournal(async () => {
    if (commits.length === 2) await slow.promise;
  });
  await say("One");
  await nextTurn();
  for (const text of [" two", " three", " four"]) {
    await say(text);
    await nextTurn();
  }
  await clock.advance(20);
  // During the second commit, everything added waits for the third.
  await say(" five");
  await clock.advance(20);
  await say(" six");
  slow.open();
  expect(await journal.flush()).toBe(true);
  expect(commits.map((events) => events.map(({ data }) => data["text"]))).toEqual([
    ["One"],
    [" two three four"],
    [" five six"],
  ]);
  expect(clock.sleepers).toBe(0);
});

test("an event is stored after everything that was output before it", async () => {
  const { commits, journal, runId, say } = await openJournal();
  await say("One");
  expect(await journal.record(aToolStart(runId))).toBe(true);
  await say("two");
  expect(await journal.flush()).toBe(true);
  expect(commits.flat().map(({ type }) => type)).toEqual([
    "message.delta",
    "tool.started",
    "message.delta",
  ]);
});
