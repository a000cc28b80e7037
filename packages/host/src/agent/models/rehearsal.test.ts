import type { Clock, ModelEvent, ModelMessage } from "@holdfast/engine";
import { readToEnd } from "@holdfast/testing/fakes/scripted-model";
import { ids, type Json } from "@holdfast/protocol";
import { expect, test } from "vitest";

import { createRehearsalModel } from "./rehearsal.ts";

const user = (text: string): ModelMessage => ({ role: "user", text });
const assistant = (text: string): ModelMessage => ({
  role: "assistant",
  parts: [{ kind: "text", text }],
});

/** A tool call and its result as the turn's next request contains them. */
function called(name: string, input: Json, output: string): ModelMessage[] {
  const callId = ids.make("call");
  return [
    { role: "assistant", parts: [{ kind: "call", callId, name, input }] },
    { role: "tool", callId, name, output },
  ];
}

const instantClock: Clock = { now: () => 0, sleep: () => Promise.resolve() };

function respondWith(random: () => number, ...messages: ModelMessage[]): Promise<ModelEvent[]> {
  const model = createRehearsalModel({ clock: instantClock, random });
  const request = { model: "rehearsal", messages, tools: [] };
  return readToEnd(model.stream(request, new AbortController().signal));
}

const respond = (...messages: ModelMessage[]) => respondWith(() => 0.5, ...messages);
const textIn = (events: readonly ModelEvent[], kind: "text" | "reasoning" = "text"): string =>
  events.map((event) => (event.kind === kind ? event.text : "")).join("");
const countIn = (text: string): number => text.match(/\S+/g)?.length ?? 0;
const kindsIn = (events: readonly ModelEvent[]): string[] => [
  ...new Set(events.map(({ kind }) => kind)),
];

test("without directives it introduces itself, its directives and how to get a real model", async () => {
  const said = textIn(await respond(user("Hello, who is there?")));
  expect(said).toContain("“Hello, who is there?”");
  expect(said).toMatch(/not an AI/);
  for (const name of ["words", "rate", "think", "tool", "fail", "stall", "echo"])
    expect(said).toContain(`\`{${name}`);
  expect(said).toContain("HOLDFAST_MODEL");
});

test("it introduces itself once and later only reminds", async () => {
  const first = textIn(await respond(user("Hello")));
  const later = textIn(await respond(user("Hello"), assistant(first), user("And now?")));
  expect(later).toContain("“And now?”");
  expect(later).toContain("HOLDFAST_MODEL");
  expect(countIn(later)).toBeLessThan(countIn(first) / 2);
});

test.each([0, 1, 7, 500])(
  "{words:%i} gives exactly that many words, the same each time",
  async (count) => {
    const spoken = async (random: () => number) =>
      textIn(await respondWith(random, user(`{words:1}{words:${count}}`)));
    const text = await spoken(() => 0);
    expect(countIn(text)).toBe(count + 1);
    expect(text).toMatch(/\.$/);
    expect(await spoken(() => 0.99)).toBe(text);
  },
);

test("text is streamed a few words at a time, and words are counted as tokens", async () => {
  const events = await respond(user("{think:20}{words:100}"));
  expect(kindsIn(events)).toEqual(["reasoning", "text", "usage"]);
  expect(countIn(textIn(events, "reasoning"))).toBe(20);
  const sizes = events.map((event) => (event.kind === "text" ? countIn(event.text) : 0));
  expect(Math.max(...sizes)).toBeLessThanOrEqual(3);
  expect(events.at(-1)).toEqual({ kind: "usage", usage: { input: 1, output: 120 } });
});

test("a tool is called, and the turn continues after its result", async () => {
  const input = { command: "echo '}'" };
  const prompt = user(
    `{words:3}{tool:terminal ${JSON.stringify(input)}}{words:4}{tool:clock}{echo}`,
  );
  const calling = await respond(prompt);
  expect(calling.slice(-2)).toMatchObject([
    { kind: "call", name: "terminal", input },
    { kind: "usage" },
  ]);
  expect(countIn(textIn(calling))).toBe(3);

  const first = called("terminal", input, "}\nand more");
  const continued = await respond(prompt, ...first);
  expect(textIn(continued)).toMatch(
    /^The tool terminal answered “} and more”\.\n\nA holdfast is the\.$/,
  );
  expect(continued.at(-2)).toEqual({ kind: "call", name: "clock", input: {} });

  const ending = textIn(await respond(prompt, ...first, ...called("clock", {}, "")));
  expect(ending).toMatch(/^The tool clock ended and said nothing\.\n\n```text\nuser: /);
  expect(ending).not.toContain("The tool terminal");
});

test("a new message in the middle of a turn takes over", async () => {
  const messages = [
    user("{tool:clock}{words:9}"),
    ...called("clock", {}, "noon"),
    user("{words:2}"),
  ];
  expect(countIn(textIn(await respond(...messages)))).toBe(2);
});

test("{echo} repeats the context, one line per message", async () => {
  const [calling, result] = called("terminal", { command: "ls" }, "a.txt\nb.txt");
  const messages = [
    { role: "system", text: "Be brief.\n\nAlways." } as const,
    user("Look ```here```"),
    assistant("I look."),
    calling as ModelMessage,
    result as ModelMessage,
    user("{echo}"),
  ];
  expect(textIn(await respond(...messages))).toBe(
    [
      "````text",
      "system: Be brief. ↵ Always.",
      "user: Look ```here```",
      "assistant: I look.",
      'assistant: [terminal] {"command":"ls"}',
      "tool: [terminal] a.txt ↵ b.txt",
      "user: {echo}",
      "````",
    ].join("\n"),
  );
});

test("misread directives are mentioned in place, three at most, and the rest is carried out", async () => {
  const said = textIn(await respond(user("{words:2}{sing:loud}{words:x} {a}{b}{c}{words:3}")));
  expect(said.split("\n\n")).toEqual([
    "A holdfast.",
    "I could not follow {sing:loud}: there is no directive of that name.",
    expect.stringMatching(/^I could not follow \{words:x\}: it takes a whole number/),
    "I could not follow {a}: there is no directive of that name.",
    "A holdfast is.",
  ]);
});

test("a request without a message is answered too", async () => {
  expect(textIn(await respond())).toMatch(/^I am the rehearsal model/);
});
