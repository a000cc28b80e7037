import { expect, test } from "vitest";

import { compareThirds, describeGrowth, type SoakSample } from "./judge.ts";
import { runSoak } from "./run.ts";

const rest: SoakSample = { memoryMb: 100, files: 40, handles: 12, acceptMs: 2, searchMs: 3 };
const six = (last: Partial<SoakSample>): SoakSample[] =>
  Array.from({ length: 6 }, (_, index) => (index < 4 ? rest : { ...rest, ...last }));

test.each([
  [{}, []],
  [{ memoryMb: 140 }, [/^memory at rest, MB grew from 100.0 to 140.0/]],
  [{ files: 60 }, [/^open files grew/]],
  [{ handles: 30 }, [/^handles grew/]],
  [{ searchMs: Number.NaN }, []],
  [{ acceptMs: 30, searchMs: 40 }, [/^message to accepted/, /^search/]],
] as const)("the soak names what grew: %j", (last, expected) => {
  const sentences = describeGrowth(compareThirds(six(last)));
  expect(sentences).toHaveLength(expected.length);
  for (const [index, pattern] of expected.entries()) expect(sentences[index]).toMatch(pattern);
});

test("a host under mixed traffic, with another one killed beside it, holds no more at the end than at the beginning", async () => {
  // A few seconds prove nothing about speed, and little about memory.
  const extraSlack = { memoryMb: 80, acceptMs: 1e6, searchMs: 1e6 };
  const { samples, counts, problems } = await runSoak({
    seconds: 2,
    rounds: 2,
    workers: 3,
    seed: 20_261_116,
    extraSlack,
  });
  expect(problems).toEqual([]);
  expect(samples).toHaveLength(2);
  expect(Object.values(counts).reduce((all, times) => all + times, 0)).toBeGreaterThan(5);
}, 180_000);
