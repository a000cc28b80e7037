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

/**
 * What the thread that writes tells the one that looks for others' commits. SQLite lets a reader see that somebody has
 * written, and a writer alone that it was somebody else: it looks in each of its transactions, when nobody else can write.
 */
export class WriteCounter {
  readonly buffer: SharedArrayBuffer;
  readonly #counts: Int32Array;

  constructor(buffer = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)) {
    this.buffer = buffer;
    this.#counts = new Int32Array(buffer);
  }

  /** To be said before the transaction itself: who has seen the one has seen the other. */
  countForeignWrite(): void {
    Atomics.add(this.#counts, 1, 1);
  }

  countTransaction(): void {
    Atomics.add(this.#counts, 0, 1);
  }

  read(): WriteCounts {
    const transactions = Atomics.load(this.#counts, 0);
    return { transactions, foreignWrites: Atomics.load(this.#counts, 1) };
  }
}

export interface WriteCounts {
  /** Transactions of this process so far, also those that wrote nothing. */
  readonly transactions: number;
  /** How many of them have found that others had written since the one before. */
  readonly foreignWrites: number;
}
