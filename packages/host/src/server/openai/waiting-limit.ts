import type { Clock } from "@holdfast/engine";
import type { RunOutputItem } from "../run-output/item.ts";

/** Clients give up after ten minutes; the run goes on waiting. */
const waitingLimitMs = 9 * 60_000;

/** Ends the reading of a run that waits for a person for so long that its client would give up. */
export class WaitingLimit {
  readonly #clock: Clock;
  readonly #expired = new AbortController();
  #timer: AbortController | null = null;
  #waitsFor: Extract<RunOutputItem, { kind: "approval_asked" }> | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get signal(): AbortSignal {
    return this.#expired.signal;
  }

  /** What the run waits for, if it does. */
  get waitsFor(): Extract<RunOutputItem, { kind: "approval_asked" }> | null {
    return this.#waitsFor;
  }

  see(item: RunOutputItem): void {
    if (item.kind === "approval_asked") {
      this.#waitsFor = item;
      if (this.#timer === null) void this.#wait((this.#timer = new AbortController()));
    }
    if (item.kind === "approval_answered" || item.kind === "ended") this.stop();
  }

  stop(): void {
    this.#waitsFor = null;
    this.#timer?.abort();
    this.#timer = null;
  }

  async #wait(timer: AbortController): Promise<void> {
    await this.#clock.sleep(waitingLimitMs, timer.signal);
    if (!timer.signal.aborted) this.#expired.abort();
  }
}
