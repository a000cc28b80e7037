import { fails, says, scriptedModel, uses } from "@holdfast/testing/fakes/scripted-model";
import { ids, ownerId } from "@holdfast/protocol";
import { expect, test } from "vitest";

import { createRehearsalModel } from "./rehearsal.ts";
import { createTitler } from "./titler.ts";

const request = {
  owner: ownerId.parse("owner"),
  session: ids.make("session"),
  question: "{words:500} How do herons stand on one leg for hours on end?",
  answer: "They have a joint that locks.",
};
const signal = new AbortController().signal;

test("a reply becomes a title: one line of bounded length, without quotes and full stop", async () => {
  const model = scriptedModel([
    [says('\n"Herons ', 'on one leg."\n', "It is about birds."), uses({ input: 7 })],
    says("word ".repeat(200)),
    says(' "" '),
    fails("auth"),
  ]);
  const titler = createTitler(async () => ({ name: "m", model }));
  expect(await titler.title(request, signal)).toMatchObject({
    status: "titled",
    title: "Herons on one leg",
    model: "m",
    usage: { input: 7 },
  });
  const long = await titler.title(request, signal);
  expect(long.status === "titled" && long.title.length).toBeLessThanOrEqual(80);
  expect(await titler.title(request, signal)).toEqual({ status: "failed" });
  expect(await titler.title(request, signal)).toEqual({ status: "failed" });
});

test("the title prompt is bounded, however long the conversation", async () => {
  const model = scriptedModel([says("Long")]);
  const long = { ...request, question: "q".repeat(100_000), answer: "a".repeat(100_000) };
  await createTitler(async () => ({ name: "m", model })).title(long, signal);
  expect(JSON.stringify(model.requests[0]).length).toBeLessThan(6_000);
});

test("the rehearsal model titles a conversation by its question and follows no directive in it", async () => {
  const titler = createTitler(async () => ({
    name: "rehearsal",
    model: createRehearsalModel(),
  }));
  expect(await titler.title(request, signal)).toMatchObject({
    status: "titled",
    title: "How do herons stand on one",
  });
  const bare = { ...request, question: "{echo}" };
  expect(await titler.title(bare, signal)).toMatchObject({ title: "Rehearsal" });
});
