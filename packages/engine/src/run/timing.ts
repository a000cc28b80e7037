/** A replay needs no more than this. */
const most = 2_000;

/** When how much was said: `[ms, characters]` for each delta. Where there are too many, neighbours become one. */
export class Timing {
  #times: number[] = [];
  #lengths: number[] = [];
  /** How many deltas a pair stands for, and how many the last one has so far. */
  #size = 1;
  #inLast = 0;

  add(ms: number, length: number): void {
    if (this.#times.length > 0 && this.#inLast < this.#size) {
      this.#lengths[this.#lengths.length - 1] = (this.#lengths.at(-1) ?? 0) + length;
      this.#inLast += 1;
      return;
    }
    if (this.#times.length === most) this.#halve();
    this.#times.push(ms);
    this.#lengths.push(length);
    this.#inLast = 1;
  }

  pairs(): [number, number][] {
    return this.#times.map((ms, index) => [ms, this.#lengths[index] ?? 0]);
  }

  #halve(): void {
    const lengths = this.#lengths;
    this.#times = this.#times.filter((_, index) => index % 2 === 0);
    this.#lengths = this.#times.map(
      (_, index) => (lengths[2 * index] ?? 0) + (lengths[2 * index + 1] ?? 0),
    );
    this.#size *= 2;
  }
}
