import type { Seq, SeqRange, SessionId } from "@holdfast/protocol";

/** What stays visible when everything behind `keep` goes; what comes after `cut`, the cut's own number, is visible again. */
export function cutRanges(ranges: readonly SeqRange[], keep: Seq, cut: Seq): SeqRange[] {
  return [...clip(ranges, keep), { from: (cut + 1) as Seq, to: null }];
}

/**
 * What a branch sees: what its origin shows up to `at`, each range in the log where it lies, and its own log from there
 * on. Flat also for a branch of a branch, so nothing is ever looked up through a chain of origins.
 */
export function branchRanges(ranges: readonly SeqRange[], origin: SessionId, at: Seq): SeqRange[] {
  const read = clip(ranges, at).map((range) => ({ ...range, log: range.log ?? origin }));
  return [...read, { from: (at + 1) as Seq, to: null }];
}

function clip(ranges: readonly SeqRange[], keep: Seq): SeqRange[] {
  return ranges
    .filter(({ from }) => from <= keep)
    .map((range) => ({ ...range, to: range.to === null || range.to > keep ? keep : range.to }));
}
