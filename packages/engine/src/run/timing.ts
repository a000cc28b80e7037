/** A replay needs no more than this. */
const maxTimingPairs = 2_000;
/** More than a message may have of characters. */
const lengthRadix = 2 ** 21;

/**
 * When how much was said: `[ms, characters]` for each delta. Where there are too many, neighbours become one. Every live run
 * has such a list, so both numbers of a pair are kept as one: `ms * lengths + characters`.
 */
export class DeltaTimings {
  #pairs: number[] = [];
  /** How many deltas a pair stands for, and how many the last one has so far. */
  #size = 1;
  #inLast = 0;

  add(ms: number, length: number): void {
    const last = this.#pairs.length - 1;
    if (last >= 0 && this.#inLast < this.#size) {
      this.#pairs[last] = (this.#pairs[last] ?? 0) + length;
      this.#inLast += 1;
      return;
    }
    if (this.#pairs.length === maxTimingPairs) this.#halve();
    this.#pairs.push(ms * lengthRadix + length);
    this.#inLast = 1;
  }

  pairs(): [number, number][] {
    return this.#pairs.map((pair) => [Math.floor(pair / lengthRadix), lengthOfPair(pair)]);
  }

  #halve(): void {
    const pairs = this.#pairs;
    this.#pairs = [];
    for (let index = 0; index < pairs.length; index += 2)
      this.#pairs.push((pairs[index] ?? 0) + lengthOfPair(pairs[index + 1] ?? 0));
    this.#size *= 2;
  }
}

/** Not the remainder: a clock that was set back makes a time that is less than nothing. */
function lengthOfPair(pair: number): number {
  return pair - Math.floor(pair / lengthRadix) * lengthRadix;
}
