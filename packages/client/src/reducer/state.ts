import type { Seq } from "@holdfast/protocol";

/** Numbers that were skipped, from and to, both included. */
export type Gap = readonly [from: Seq, to: Seq];

/** The numbers between the last event and the next, if the next does not follow at once. */
export function addGap(gaps: readonly Gap[], last: Seq, next: Seq): readonly Gap[] {
  return next > last + 1 ? [...gaps, [(last + 1) as Seq, (next - 1) as Seq]] : gaps;
}

/** Takes out the numbers that a settled message stands for. */
export function removeFromGaps(
  gaps: readonly Gap[],
  ranges: readonly (readonly [Seq, Seq])[],
): readonly Gap[] {
  let left = gaps;
  for (const [from, to] of ranges) {
    if (left.length === 0) return left;
    left = left.flatMap((gap) => gapWithout(gap, from, to));
  }
  return left;
}

function gapWithout(gap: Gap, from: Seq, to: Seq): Gap[] {
  const [first, last] = gap;
  if (to < first || from > last) return [gap];
  const rest: Gap[] = [];
  if (first < from) rest.push([first, (from - 1) as Seq]);
  if (last > to) rest.push([(to + 1) as Seq, last]);
  return rest;
}
