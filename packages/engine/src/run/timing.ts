/** A replay needs no more than this. */
const most = 2_000;
/** More than a message may have of characters. */
const lengths = 2 ** 21;

/**
 * When how much was said: `[ms, characters]` for each delta. Where there are too many, neighbours become one. Every live run
 * has such a list, so both numbers of a pair are kept as one: `ms * lengths + characters`.
 */
export class Timing {
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
    if (this.#pairs.length === most) this.#halve();
    this.#pairs.push(ms * lengths + length);
    this.#inLast = 1;
  }

  pairs(): [number, number][] {
    return this.#pairs.map((pair) => [Math.floor(pair / lengths), lengthIn(pair)]);
  }

  #halve(): void {
    const pairs = this.#pairs;
    this.#pairs = [];
    for (let index = 0; index < pairs.length; index += 2)
      this.#pairs.push((pairs[index] ?? 0) + lengthIn(pairs[index + 1] ?? 0));
    this.#size *= 2;
  }
}

/** Not the remainder: a clock that was set back makes a time that is less than nothing. */
function lengthIn(pair: number): number {
  return pair - Math.floor(pair / lengths) * lengths;
}
