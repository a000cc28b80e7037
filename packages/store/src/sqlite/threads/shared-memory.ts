/**
 * Wakes a thread that has nothing to do but wait. Standing still in `Atomics.wait` it is back to work twice as soon as
 * through its event loop, and nothing else can come between.
 */
export class WakeSignal {
  readonly buffer: SharedArrayBuffer;
  readonly #count: Int32Array;
  #heard = 0;

  constructor(buffer = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.buffer = buffer;
    this.#count = new Int32Array(buffer);
  }

  /** To be rung after what it is about was put where the other thread looks. */
  notify(): void {
    Atomics.add(this.#count, 0, 1);
    Atomics.notify(this.#count, 0);
  }

  /** Stands still until it has been rung since the last time; returns at once when it has. */
  wait(): void {
    Atomics.wait(this.#count, 0, this.#heard);
    this.#heard = Atomics.load(this.#count, 0);
  }

  /** Whether it stays silent for so long. Stands still meanwhile; what rings is still there for `wait`. */
  isIdleFor(ms: number): boolean {
    return Atomics.wait(this.#count, 0, this.#heard, ms) === "timed-out";
  }
}
