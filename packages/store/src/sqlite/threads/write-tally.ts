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
