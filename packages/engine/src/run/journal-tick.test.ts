import { createIds, type NewEvent } from "@holdfast/protocol";
import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { expect, test } from "vitest";

import { createLog, type Log } from "../log/log.ts";
import { aMessageId, aRunId } from "@holdfast/testing/fixtures/factories";
import { createGate } from "@holdfast/testing/rigs/run-rig";
import { manualClock, nextTurn } from "@holdfast/testing/fakes/manual-clock";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { Journal, Tick } from "./journal.ts";
import { RunHandle } from "./run-handle.ts";

function setUp() {
  const clock = manualClock();
  const went: string[] = [];
  const tick = new Tick(clock);
  return { clock, went, tick, join: (name: string) => tick.join(() => void went.push(name)) };
}

test("the first goes off with the end of its turn, and those behind it together with the next beat", async () => {
  const { clock, went, join } = setUp();
  join("first");
  join("with it");
  expect(went).toEqual([]);
  await nextTurn();
  expect(went).toEqual(["first", "with it"]);
  join("second");
  join("third");
  await clock.advance(19);
  expect(went).toHaveLength(2);
  await clock.advance(1);
  expect(went).toEqual(["first", "with it", "second", "third"]);
});

test("[S3.9] who leaves does not go off, and when nobody waits there is no timer", async () => {
  const { clock, went, join } = setUp();
  join("first");
  await nextTurn();
  const leaves = [join("second"), join("third")];
  expect(clock.sleepers).toBe(1);
  for (const leave of leaves) leave();
  expect(clock.sleepers).toBe(0);
  await clock.advance(50);
  expect(went).toEqual(["first"]);
  join("fourth");
  await nextTurn();
  expect(went).toEqual(["first", "fourth"]);
  expect(clock.sleepers).toBe(0);
});

test("many go off a few at a time, each once, and the next beat is later for it", async () => {
  const { clock, went, join } = setUp();
  for (let index = 0; index < 1_000; index += 1) join(`run ${index}`);
  await nextTurn();
  expect(went.length).toBeGreaterThan(0);
  expect(went.length).toBeLessThanOrEqual(100);
  for (let turns = 0; went.length < 1_000 && turns < 100; turns += 1) await clock.advance(0);
  expect(new Set(went).size).toBe(1_000);
  join("one more");
  await clock.advance(49);
  expect(went).toHaveLength(1_000);
  await clock.advance(1);
  expect(went.at(-1)).toBe("one more");
});

test("what a model says until the beat is one event, and a flush waits for no beat", async () => {
  const clock = manualClock();
  const commits: NewEvent[][] = [];
  const slow = createGate();
  const { store } = await referenceHarness.open();
  const chat = await openTestSession(store);
  const { head } = await chat.row();
  const log = createLog(store);
  const watched: Log = {
    ...log,
    async commit(commit) {
      commits.push([...commit.events]);
      if (commits.length === 2) await slow.promise;
      return log.commit(commit);
    },
  };
  const held = { owner: chat.owner, runId: aRunId(), lease: await chat.lease(), head };
  const run = new RunHandle(watched, createIds(), held, clock);
  const journal = new Journal({ clock, tick: new Tick(clock) }, run);
  const messageId = aMessageId();
  const say = (text: string) => journal.addText({ messageId, part: 0, as: "text", text });
  await say("One");
  await nextTurn();
  for (const text of [" two", " three", " four"]) {
    await say(text);
    await nextTurn();
  }
  await clock.advance(20);
  // While the second commit is under way, all that comes waits for the third.
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
