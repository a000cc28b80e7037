/** Times of one operation, in milliseconds. */
export class Samples {
  readonly #times: number[] = [];
  #sorted: Float64Array | undefined;

  add(time: number): void {
    this.#times.push(time);
    this.#sorted = undefined;
  }

  addAll(times: Iterable<number>): void {
    for (const time of times) this.add(time);
  }

  get count(): number {
    return this.#times.length;
  }

  get total(): number {
    return this.#times.reduce((sum, time) => sum + time, 0);
  }

  get mean(): number {
    return this.count === 0 ? Number.NaN : this.total / this.count;
  }

  get p50(): number {
    return this.percentile(50);
  }

  get p99(): number {
    return this.percentile(99);
  }

  get max(): number {
    return this.percentile(100);
  }

  /** The nearest rank: always a time that was measured. */
  percentile(percent: number): number {
    this.#sorted ??= Float64Array.from(this.#times).toSorted();
    const rank = Math.ceil((percent / 100) * this.#sorted.length);
    return this.#sorted[Math.max(rank, 1) - 1] ?? Number.NaN;
  }
}
