import type { Clock, ModelMessage } from "@holdfast/engine";
import { manualClock, nextTurn } from "@holdfast/testing/fakes/manual-clock";
import { readToEnd } from "@holdfast/testing/fakes/scripted-model";
import { ids } from "@holdfast/protocol";
import { expect, test } from "vitest";

import { createRehearsalModel } from "./rehearsal.ts";

const requestOf = (...messages: readonly ModelMessage[]) => ({
  model: "rehearsal",
  messages,
  tools: [],
});
const user = (text: string): ModelMessage => ({ role: "user", text });
const unaborted = (): AbortSignal => new AbortController().signal;

/** A clock that advances by itself as soon as somebody sleeps. */
function leapingClock(): Clock {
  let now = 0;
  return {
    now: () => now,
    sleep: (ms) => {
      now += ms;
      return Promise.resolve();
    },
  };
}

test.each([
  ["{words:60}", 1000],
  ["{rate:100}{words:50}", 500],
  ["{rate:5}{words:5}{rate:10}{words:10}", 2000],
  ["{rate:1000}{words:1000}", 1000],
  ["{stall:2.5}{rate:100}{think:20}{words:80}", 3500],
])("%s takes %i ms", async (text, expected) => {
  const clock = leapingClock();
  const model = createRehearsalModel({ clock });
  await readToEnd(model.stream(requestOf(user(text)), unaborted()));
  expect(clock.now()).toBeCloseTo(expected, 6);
});

test("a rate set before a tool still applies after it", async () => {
  const clock = leapingClock();
  const callId = ids.make("call");
  const messages: ModelMessage[] = [
    user("{rate:1000}{tool:clock}{words:994}"),
    { role: "assistant", parts: [{ kind: "call", callId, name: "clock", input: {} }] },
    { role: "tool", callId, name: "clock", output: "It is noon." },
  ];
  await readToEnd(createRehearsalModel({ clock }).stream(requestOf(...messages), unaborted()));
  // The report of the tool's answer has seven words.
  expect(clock.now()).toBeCloseTo(1001, 6);
});

test.each([
  ["{echo}", 2_000],
  // The pace that the person chose applies, and afterwards the usual one.
  ["{rate:100}{echo}", 30_040],
  ["{echo}{words:60}", 3_000],
])("of a context of thousands of words, %s takes %i ms", async (text, expected) => {
  const clock = leapingClock();
  const model = createRehearsalModel({ clock });
  const long: ModelMessage = { role: "system", text: "word ".repeat(2_999) };
  await readToEnd(model.stream(requestOf(long, user(text)), unaborted()));
  expect(clock.now()).toBeCloseTo(expected, 6);
});

test("a stalled reader does not get the backlog in one burst", async () => {
  const clock = leapingClock();
  const model = createRehearsalModel({ clock });
  const stream = model.stream(requestOf(user("{rate:100}{words:50}")), unaborted());
  let isFirst = true;
  for await (const event of stream) {
    if (isFirst && event.kind === "text") await clock.sleep(10_000);
    isFirst = false;
  }
  expect(clock.now()).toBeGreaterThanOrEqual(10_000 + 400);
});

test("output is capped at a hundred chunks a second, however fast the rate", async () => {
  const model = createRehearsalModel({ clock: leapingClock() });
  const request = requestOf(user("{rate:10000}{words:10000}"));
  expect((await readToEnd(model.stream(request, unaborted()))).length).toBeLessThanOrEqual(101);
});

test("a stall is a pause before the next output", async () => {
  const clock = manualClock();
  const model = createRehearsalModel({ clock });
  const request = requestOf(user("{stall:10}{words:1}"));
  const stream = model.stream(request, unaborted())[Symbol.asyncIterator]();
  let hasSpoken = false;
  const first = stream.next().finally(() => (hasSpoken = true));
  await nextTurn();
  await clock.advance(9_999);
  await clock.advance(0);
  expect(hasSpoken).toBe(false);
  await clock.advance(1);
  await clock.advance(100);
  expect(await first).toMatchObject({ value: { kind: "text" } });
});

test.each([
  ["{stall:10}", []],
  ["{stall:9}{tool:clock}", []],
  ["{words:500}", ["text"]],
  ["{think:500}", ["reasoning"]],
  ["{echo} a b c d e", ["text"]],
  ["plain", ["text"]],
])("an abort ends %j at once, with nothing after it", async (text, expected) => {
  const clock = manualClock();
  const aborting = new AbortController();
  const model = createRehearsalModel({ clock });
  const events = readToEnd(model.stream(requestOf(user(text)), aborting.signal));
  await nextTurn();
  await clock.advance(100);
  aborting.abort();
  expect((await events).map(({ kind }) => kind)).toEqual(expected);
});

test("a call that is already aborted says nothing", async () => {
  const model = createRehearsalModel();
  const request = requestOf(user("{tool:clock}"));
  expect(await readToEnd(model.stream(request, AbortSignal.abort()))).toEqual([]);
});

test("the system clock keeps the rate", async () => {
  const startedAt = performance.now();
  const request = requestOf(user("{rate:400}{words:100}"));
  await readToEnd(createRehearsalModel().stream(request, unaborted()));
  expect(performance.now() - startedAt).toBeGreaterThan(240);
});
