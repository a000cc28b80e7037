import { withTimeout } from "@holdfast/protocol";
import type { Clock } from "../ports/clock.ts";
import type { SpillReadResult, SpillRef, SpillStore } from "../ports/spill.ts";

export interface JournalReaderDeps {
  readonly spills: SpillStore;
  readonly clock: Clock;
}

/** How long one attempt may wait for a disk. */
const maxReadMs = 1_000;

interface JournalRead {
  readonly answer: Promise<SpillReadResult>;
  isDone: boolean;
}

/**
 * Reads journals, never one twice at the same time. A slow read continues after its caller has given up on it, and the
 * next caller gets its result.
 */
export class JournalReader {
  readonly #spills: SpillStore;
  readonly #clock: Clock;
  readonly #looking = new Map<string, Promise<boolean>>();
  readonly #reading = new Map<string, JournalRead>();

  constructor({ spills, clock }: JournalReaderDeps) {
    this.#spills = spills;
    this.#clock = clock;
  }

  /** Whether there is something to read that nobody is reading yet. `false` if the disk is too slow to tell. */
  async isReady(ref: SpillRef): Promise<boolean> {
    const key = keyOf(ref);
    const underWay = this.#reading.get(key);
    if (underWay !== undefined) return underWay.isDone;
    const looking =
      this.#looking.get(key) ?? this.#spills.isReady(ref).finally(() => this.#looking.delete(key));
    this.#looking.set(key, looking);
    return (await this.inTime(looking)) ?? false;
  }

  /** `null`: the read is still running. `onRead` is called once it is done, and gets the result by reading again. */
  async read(ref: SpillRef, onRead: () => Promise<unknown>): Promise<SpillReadResult | null> {
    const key = keyOf(ref);
    const underWay = this.#reading.get(key);
    if (underWay !== undefined) return underWay.isDone ? underWay.answer : null;
    // A folder that fails against its contract must not leave the journal claimed for good.
    const answer = this.#spills.read(ref).catch(() => ({ status: "arriving" }) as const);
    const reading: JournalRead = { answer, isDone: false };
    this.#reading.set(key, reading);
    const result = await this.inTime(reading.answer);
    if (result === undefined) void this.#finish(key, reading, onRead);
    else this.#reading.delete(key);
    return result ?? null;
  }

  /** `undefined`: the work is still running, but nobody should wait for it. */
  async inTime<T>(work: Promise<T>): Promise<T | undefined> {
    const result = await withTimeout({ clock: this.#clock, ms: maxReadMs }, () => work);
    return result.status === "done" ? result.value : undefined;
  }

  async #finish(key: string, reading: JournalRead, onRead: () => Promise<unknown>): Promise<void> {
    try {
      await reading.answer;
      reading.isDone = true;
      await onRead();
    } finally {
      this.#reading.delete(key);
    }
  }
}

function keyOf({ runId, fence }: SpillRef): string {
  return `${runId}-${fence}`;
}
