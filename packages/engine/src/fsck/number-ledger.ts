import type { RawEvent } from "../ports/audit.ts";

/** From and to, both included. */
export type SeqSpan = readonly [from: number, to: number];

/**
 * P2, P14: accounts for every number of a log. A number is a row, or it is one of those that a settled entry stands
 * for; never neither, and never twice.
 */
export class SeqLedger {
  #next: number;
  /** Skipped, and not explained yet. */
  #gaps: SeqSpan[] = [];
  /** Output rows that no entry stands for yet, by where they lie. */
  #open: SeqSpan[] = [];
  #pruned: SeqSpan[] = [];

  constructor(first: number) {
    this.#next = first;
  }

  /** `false` when the number was given before. */
  see({ seq, place }: Pick<RawEvent, "seq" | "place">): boolean {
    if (seq < this.#next) return false;
    if (seq > this.#next) this.#gaps.push([this.#next, seq - 1]);
    if (place === "delta") addSeq(this.#open, seq);
    if (place === "pruned") addSeq(this.#pruned, seq);
    this.#next = seq + 1;
    return true;
  }

  /** An entry stands for these numbers. */
  settle([from, to]: SeqSpan): {
    readonly wrong: number;
    readonly open: number;
    readonly gone: number;
  } {
    const gone = cutSpans(this.#gaps, from, to);
    const open = cutSpans(this.#open, from, to);
    const pruned = cutSpans(this.#pruned, from, to);
    this.#gaps = gone.rest;
    this.#open = open.rest;
    this.#pruned = pruned.rest;
    const explained = gone.count + open.count + pruned.count;
    return { wrong: to - from + 1 - explained, open: open.count, gone: gone.count };
  }

  /** What is left when the log has been read to its head. */
  close(head: number): {
    readonly missing: readonly SeqSpan[];
    readonly prunedEarly: readonly SeqSpan[];
  } {
    const behind: SeqSpan[] = head >= this.#next ? [[this.#next, head]] : [];
    return { missing: [...this.#gaps, ...behind], prunedEarly: this.#pruned };
  }
}

function addSeq(spans: SeqSpan[], seq: number): void {
  const last = spans.at(-1);
  if (last !== undefined && last[1] === seq - 1) spans[spans.length - 1] = [last[0], seq];
  else spans.push([seq, seq]);
}

function cutSpans(
  spans: readonly SeqSpan[],
  from: number,
  to: number,
): { rest: SeqSpan[]; count: number } {
  const rest: SeqSpan[] = [];
  let count = 0;
  for (const [first, last] of spans) {
    const start = Math.max(first, from);
    const end = Math.min(last, to);
    if (start > end) {
      rest.push([first, last]);
      continue;
    }
    count += end - start + 1;
    if (first < start) rest.push([first, start - 1]);
    if (last > end) rest.push([end + 1, last]);
  }
  return { rest, count };
}

export function spanText([from, to]: SeqSpan): string {
  return from === to ? `${from}` : `${from} to ${to}`;
}
