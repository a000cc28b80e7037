import { manualClock } from "@holdfast/testing/fakes/manual-clock";
import { expect, test } from "vitest";
import { createProgressWriter } from "./call-progress.ts";

function openWriter() {
  const clock = manualClock();
  const shown: string[] = [];
  const over = new AbortController();
  const writer = createProgressWriter((text) => void shown.push(text), clock, over.signal);
  return { clock, shown, over, writer };
}

test("the first progress is shown at once, then the newest four times a second, and the last in the end", async () => {
  const { clock, shown, writer } = openWriter();
  for (let progress = 1; progress <= 5_000; progress += 1) writer.add({ progress, total: 9_000 });
  expect(shown).toEqual(["1 of 9000\n"]);
  await clock.advance(250);
  expect(shown).toEqual(["1 of 9000\n", "5000 of 9000\n"]);
  writer.add({ progress: 5_001, message: "almost\n there" });
  writer.end();
  expect(shown.at(-1)).toBe("5001: almost there\n");
});

test("nothing is shown of a call that was stopped, and long words are cut", async () => {
  const { clock, shown, over, writer } = openWriter();
  writer.add({ progress: 1, message: "x".repeat(5_000) });
  expect(shown[0]).toHaveLength(304);
  writer.add({ progress: 2 });
  over.abort();
  await clock.advance(250);
  expect(shown).toHaveLength(1);
});
