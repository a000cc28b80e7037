import type { StepResult } from "./mender.ts";

const firstBackoffMs = 1_000;
const maxBackoffMs = 60_000;

/** Indexes between requests until nothing is left, resting in between so that live work comes first. */
export class BackgroundIndexer {
  readonly #step: () => StepResult;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;
  #woken = false;
  #backoffMs = firstBackoffMs;

  constructor(step: () => StepResult) {
    this.#step = step;
  }

  wake(): void {
    this.#woken = true;
    if (this.#timer === undefined) this.#after(0);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #after(ms: number): void {
    if (!this.#stopped) this.#timer = setTimeout(() => this.#run(), ms);
  }

  #run(): void {
    // Woken since the last step: someone writes, and gets half of the time.
    const share = this.#woken ? 1 : 0.25;
    this.#woken = false;
    const startedAt = performance.now();
    const { status } = this.#step();
    const tookMs = performance.now() - startedAt;
    this.#timer = undefined;
    if (status !== "failed") this.#backoffMs = firstBackoffMs;
    switch (status) {
      case "current":
        return;
      case "more":
      case "mended":
        return this.#after(tookMs * share);
      case "busy":
        return this.#after(5 + Math.random() * 20);
      case "failed":
        this.#after(this.#backoffMs);
        this.#backoffMs = Math.min(this.#backoffMs * 2, maxBackoffMs);
    }
  }
}
