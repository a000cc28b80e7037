import { expect, test } from "vitest";

import { aDelta, aMessageId, aRunId, toSeq } from "@holdfast/testing/fixtures/factories";
import { manualClock, nextTurn } from "@holdfast/testing/fakes/manual-clock";
import { foldStepInSlices, foldStep, StepFolder } from "./fold-step.ts";

const runId = aRunId();

/** A message in this many deltas, ten milliseconds apart. */
function foldDeltas(texts: readonly string[]) {
  const messageId = aMessageId();
  const folder = new StepFolder();
  for (const [index, text] of texts.entries()) {
    const delta = aDelta(runId, text, messageId);
    folder.add({ ...delta, seq: toSeq(index + 1), at: 1_000 + index * 10 });
  }
  return folder;
}

test("a message of very many pieces is their text in order, with one range for all their seqs", () => {
  const texts = Array.from({ length: 20_000 }, (_, index) => `${index}, `);
  const { message } = foldDeltas(texts).fold();
  expect(message?.parts).toEqual([{ type: "text", text: texts.join("") }]);
  expect(message?.deltas).toEqual([[1, 20_000]]);
});

test("its timing stays short: it starts at zero, only grows, and accounts for every character", () => {
  for (const count of [1, 1_999, 2_000, 2_001, 4_001, 20_000]) {
    const texts = Array.from({ length: count }, (_, index) => "x".repeat(1 + (index % 7)));
    const timing = foldDeltas(texts).fold().message?.timing ?? [];
    expect(timing.length).toBeLessThanOrEqual(2_000);
    expect(timing.length).toBeGreaterThan(Math.min(count, 2_000) / 2 - 1);
    expect(timing[0]?.[0]).toBe(0);
    expect(timing.every(([ms], index) => index === 0 || ms > (timing[index - 1]?.[0] ?? 0))).toBe(
      true,
    );
    expect(timing.reduce((sum, [, length]) => sum + length, 0)).toBe(texts.join("").length);
  }
});

test("an earlier fold does not change when more is added", () => {
  const folder = foldDeltas(["One", " two"]);
  const before = folder.fold();
  const copy = structuredClone(before.message);
  folder.add({ ...aDelta(runId, " three", before.message?.messageId), seq: toSeq(3), at: 2_000 });
  expect(before.message).toEqual(copy);
  expect(folder.fold().message?.parts).toEqual([{ type: "text", text: "One two three" }]);
});

test("a long journal folds like a short one without blocking the event loop", async () => {
  const messageId = aMessageId();
  const journal = Array.from({ length: 5_000 }, (_, index) => ({
    ...aDelta(runId, `${index} `, messageId),
    seq: toSeq(index + 1),
    at: index,
  }));
  const clock = manualClock();
  const folding = foldStepInSlices(clock, journal);
  for (let turns = 0; turns < 2; turns += 1) {
    await nextTurn();
    expect(clock.sleepers).toBe(1);
    await clock.advance(0);
  }
  expect(await folding).toEqual(foldStep(journal));
  expect(clock.sleepers).toBe(0);
});
