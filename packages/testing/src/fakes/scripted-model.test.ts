import { getEventListeners } from "node:events";
import { expect, test } from "vitest";

import type { ModelEvent, ModelRequest } from "@holdfast/engine";
import { nextTurn } from "./manual-clock.ts";
import {
  calls,
  fails,
  gate,
  hang,
  readToEnd,
  says,
  type Script,
  scriptedModel,
  thinks,
  uses,
} from "./scripted-model.ts";

const requestOf = (text = "Hello"): ModelRequest => ({
  model: "scripted",
  messages: [{ role: "user", text }],
  tools: [],
});
const unaborted = (): AbortSignal => new AbortController().signal;

/** The answers to these requests, each read to its end before the next. */
async function answersOf(script: Script, ...requests: ModelRequest[]): Promise<ModelEvent[][]> {
  const model = scriptedModel(script);
  const answers: ModelEvent[][] = [];
  for (const request of requests) answers.push(await readToEnd(model.stream(request, unaborted())));
  return answers;
}

test("each call gets the next reply, step by step and in order", async () => {
  const answers = await answersOf(
    [
      [
        thinks("Hm."),
        says("I ", "look."),
        calls("terminal", { command: "ls" }),
        uses({ input: 3 }),
      ],
      says("Done."),
    ],
    requestOf(),
    requestOf(),
  );
  expect(answers).toEqual([
    [
      { kind: "reasoning", text: "Hm." },
      { kind: "text", text: "I " },
      { kind: "text", text: "look." },
      { kind: "call", name: "terminal", input: { command: "ls" } },
      { kind: "usage", usage: { input: 3, output: 0 } },
    ],
    [{ kind: "text", text: "Done." }],
  ]);
});

test("a function replies based on the request, for one call or for all", async () => {
  const repeat = ({ messages }: ModelRequest) => says(messages[0]?.role === "user" ? "yes" : "no");
  expect(await answersOf([repeat], requestOf())).toEqual([[{ kind: "text", text: "yes" }]]);
  const counting: Script = (_request, callsBefore) => says(String(callsBefore));
  expect(await answersOf(counting, requestOf(), requestOf())).toEqual([
    [{ kind: "text", text: "0" }],
    [{ kind: "text", text: "1" }],
  ]);
});

test("a failure ends the reply with its class and message", async () => {
  const script = [[fails("overloaded", { retryAfterMs: 50 }), says("never said")]];
  const [answer] = await answersOf(script, requestOf());
  expect(answer).toMatchObject([
    {
      kind: "failed",
      failure: { class: "overloaded", code: "scripted_overloaded", retryAfterMs: 50 },
    },
  ]);
});

test("a call after the last reply fails with a value that says so", async () => {
  const [answer] = await answersOf([], requestOf());
  expect(answer).toMatchObject([{ failure: { class: "fatal", code: "script_ended" } }]);
});

test("requests are recorded as they were when they came", () => {
  const model = scriptedModel([says("a"), says("b")]);
  const messages: ModelRequest["messages"][number][] = [{ role: "user", text: "one" }];
  model.stream({ ...requestOf(), messages }, unaborted());
  messages.push({ role: "user", text: "two" });
  model.stream({ ...requestOf(), messages }, unaborted());
  expect(model.requests.map((request) => request.messages.length)).toEqual([1, 2]);
});

test("a gate holds the reply back until it opens, and leaves no listener behind", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const signal = unaborted();
  const stream = scriptedModel([[gate(promise), says("open")]]).stream(requestOf(), signal);
  let ended = false;
  const answer = readToEnd(stream).finally(() => (ended = true));
  await nextTurn();
  expect([ended, getEventListeners(signal, "abort").length]).toEqual([false, 1]);
  resolve();
  expect(await answer).toEqual([{ kind: "text", text: "open" }]);
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

test("an abort ends the reply between two steps and at a gate", async () => {
  const aborting = new AbortController();
  const model = scriptedModel([says("one", "two"), [gate(new Promise(() => {})), says("three")]]);
  const between = model.stream(requestOf(), aborting.signal)[Symbol.asyncIterator]();
  expect(await between.next()).toMatchObject({ value: { text: "one" } });
  const atGate = readToEnd(model.stream(requestOf(), aborting.signal));
  await nextTurn();
  aborting.abort();
  expect(await between.next()).toMatchObject({ done: true });
  expect(await atGate).toEqual([]);
});

test("a hang outlasts the abort", async () => {
  const aborting = new AbortController();
  const model = scriptedModel([[says("one"), hang, says("two")]]);
  const stream = model.stream(requestOf(), aborting.signal)[Symbol.asyncIterator]();
  await stream.next();
  let ended = false;
  void stream.next().finally(() => (ended = true));
  aborting.abort();
  await nextTurn();
  expect(ended).toBe(false);
});
