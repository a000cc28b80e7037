import { createIds, type NewEvent } from "@holdfast/protocol";
import { memoryHarness } from "@holdfast/testing/stores/harnesses";
import { expect, test } from "vitest";

import { createLog, type Log } from "../log/log.ts";
import { aMessageId, aRunId } from "@holdfast/testing/fixtures/factories";
import { gated } from "@holdfast/testing/rigs/run-words";
import { manualClock, turn } from "@holdfast/testing/fakes/manual-clock";
import { openSession } from "@holdfast/testing/fixtures/open-session";
import { Journal } from "./journal.ts";
import { RunHandle } from "./run-handle.ts";
import { Tick } from "./tick.ts";

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
  await turn();
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
  await turn();
  const leaves = [join("second"), join("third")];
  expect(clock.sleepers).toBe(1);
  for (const leave of leaves) leave();
  expect(clock.sleepers).toBe(0);
  await clock.advance(50);
  expect(went).toEqual(["first"]);
  join("fourth");
  await turn();
  expect(went).toEqual(["first", "fourth"]);
  expect(clock.sleepers).toBe(0);
});

test("many go off a few at a time, each once, and the next beat is later for it", async () => {
  const { clock, went, join } = setUp();
  for (let index = 0; index < 1_000; index += 1) join(`run ${index}`);
  await turn();
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
  const slow = gated();
  const { store } = await memoryHarness.open();
  const chat = await openSession(store);
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
  await turn();
  for (const text of [" two", " three", " four"]) {
    await say(text);
    await turn();
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
