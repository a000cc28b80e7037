import type { Clock, ModelEvent, ModelMessage } from "@holdfast/engine";
import { readToEnd } from "@holdfast/testing/fakes/scripted-model";
import { expect, test } from "vitest";

import { createRehearsalModel } from "./rehearsal.ts";

const user = (text: string): ModelMessage => ({ role: "user", text });
const assistant = (text: string): ModelMessage => ({
  role: "assistant",
  parts: [{ kind: "text", text }],
});
const instantClock: Clock = { now: () => 0, sleep: () => Promise.resolve() };

/** One model that can be called repeatedly. */
function openModel(): (...messages: ModelMessage[]) => Promise<ModelEvent[]> {
  const model = createRehearsalModel({ clock: instantClock });
  return (...messages) => {
    const request = { model: "rehearsal", messages, tools: [] };
    return readToEnd(model.stream(request, new AbortController().signal));
  };
}

const textIn = (events: readonly ModelEvent[]): string =>
  events.map((event) => (event.kind === "text" ? event.text : "")).join("");
const countIn = (text: string): number => text.match(/\S+/g)?.length ?? 0;
const kindsIn = (events: readonly ModelEvent[]): string[] => [
  ...new Set(events.map(({ kind }) => kind)),
];

test.each([
  [429, "overloaded"],
  [500, "retryable"],
  [503, "retryable"],
  [401, "auth"],
  [403, "auth"],
  [413, "overflow"],
  [400, "fatal"],
  [404, "fatal"],
])("{fail:%i} fails with the class %s", async (status, failureClass) => {
  const [event, ...rest] = await openModel()(user(`{fail:${status}}`));
  expect(event).toMatchObject({ kind: "failed", failure: { class: failureClass } });
  expect(event?.kind === "failed" && event.failure.retryAfterMs).toBe(
    status === 429 ? 1000 : undefined,
  );
  expect(rest).toEqual([]);
});

test("{fail} fails first and succeeds on retry; the next turn starts over", async () => {
  const ask = openModel();
  const prompt = user("{words:4}{fail:429}{fail:500}{words:2}");
  const attempts = [await ask(prompt), await ask(prompt), await ask(prompt), await ask(prompt)];
  expect(attempts.map((events) => events.at(-1))).toMatchObject([
    { failure: { class: "overloaded" } },
    { failure: { class: "retryable" } },
    { kind: "usage", usage: { output: 6 } },
    { failure: { class: "overloaded" } },
  ]);
  expect(countIn(textIn(attempts[0] ?? []))).toBe(4);
});

test("an attempt whose context holds the failed one's text is still the next attempt", async () => {
  const ask = openModel();
  const prompt = user("{words:4}{fail:500}");
  const partial = assistant(textIn(await ask(prompt)));
  expect((await ask(prompt, partial)).at(-1)).toMatchObject({ kind: "usage" });
});

test("with nothing else to say it reports its earlier failures", async () => {
  const ask = openModel();
  await ask(user("{fail:500}"));
  expect(textIn(await ask(user("{fail:500}")))).toContain("The attempt before it failed");
});

test("{fail:…!} fails every time", async () => {
  const ask = openModel();
  for (let attempt = 0; attempt < 3; attempt++)
    expect(kindsIn(await ask(user("{fail:500!}{words:1}")))).toEqual(["failed"]);
});

test("deliberate failures are remembered for the newest thousand turns only", async () => {
  const ask = openModel();
  for (let index = 0; index <= 1000; index++) await ask(user(`{fail:500} ${index}`));
  expect(kindsIn(await ask(user("{fail:500} 1000")))).toContain("usage");
  expect(kindsIn(await ask(user("{fail:500} 0")))).toEqual(["failed"]);
});
