import type { Seq } from "@holdfast/protocol";

const numbersPerSeq = 1_000;
const deltaPosition = numbersPerSeq - 1;

/**
 * The `sequence_number` of each event of a response: 1,000 times the seq of the log event that it comes from, plus its
 * position among the events of that one. It follows from the log alone, so it is the same for every reader, in every
 * replay and on every host. A delta has the last position, which tells whether a reader has its text.
 */
export class EventNumbers {
  #last = -1;

  next(seq: Seq): number {
    return this.#after(seq * numbersPerSeq);
  }

  nextDelta(seq: Seq): number {
    return this.#after(seq * numbersPerSeq + deltaPosition);
  }

  #after(number: number): number {
    this.#last = Math.max(this.#last + 1, number);
    return this.#last;
  }
}

/** The last seq whose text a reader with this number has. */
export function seqOfNumber(number: number): Seq {
  const seq = Math.floor(number / numbersPerSeq);
  return Math.max(0, number % numbersPerSeq === deltaPosition ? seq : seq - 1) as Seq;
}

export function lastNumberOf(seq: Seq): number {
  return seq * numbersPerSeq + deltaPosition;
}
