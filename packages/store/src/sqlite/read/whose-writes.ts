import type { WriteCounts } from "../threads/write-tally.ts";

/** The file as a reader finds it: its version first, so that the tally knows of every transaction that is in it. */
export interface FileState extends WriteCounts {
  readonly version: number;
}

export type WriteOrigin = "nobody" | "others" | "perhaps";

/**
 * Tells whether somebody else has written since the last look. A process that streams writes all the time, and to look
 * through all that is watched with each of its own commits would cost more than the commits.
 *
 * - `nobody`: there is nothing new.
 * - `others`: it was somebody else, or may have been while this process wrote nothing.
 * - `perhaps`: this process has written, and whether others did so after it shows with its next transaction.
 */
export class ForeignWriteDetector {
  #seen: FileState | undefined;
  /** The newest look of which it is not known yet, and the one that was it when this was asked last. */
  #doubt: FileState | undefined;
  #asked: FileState | undefined;

  check(now: FileState): WriteOrigin {
    const before = this.#seen;
    this.#seen = now;
    if (now.foreignWrites !== before?.foreignWrites) return this.#settle("others");
    if (now.version === before.version) return this.#doubt === undefined ? "nobody" : "perhaps";
    if (now.transactions === before.transactions) return this.#settle("others");
    this.#doubt = now;
    return "perhaps";
  }

  /** To be asked again and again while it is `perhaps`. What stays in doubt from one time to the next is taken for others'. */
  checkAgain(now: FileState): WriteOrigin {
    const found = this.check(now);
    if (found !== "perhaps" || this.#doubt === undefined) return found;
    // A transaction that has begun since then, and found nobody else's, has answered it.
    if (now.transactions !== this.#doubt.transactions) return this.#settle("nobody");
    if (this.#doubt === this.#asked) return this.#settle("others");
    this.#asked = this.#doubt;
    return "perhaps";
  }

  #settle(answer: WriteOrigin): WriteOrigin {
    this.#doubt = undefined;
    return answer;
  }
}
