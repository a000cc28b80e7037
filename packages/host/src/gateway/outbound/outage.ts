import type { Clock } from "@holdfast/engine";

import type { PlatformAdapter, PlatformFailure } from "../adapter.ts";
import type { Pacer } from "./pace.ts";

const firstProbeMs = 500;
const maxProbeMs = 15_000;

/**
 * While a platform is away nothing is sent to it: each try might be one of which nobody can say whether it arrived. A
 * question that changes nothing finds out when it is back.
 */
export class OutageMonitor {
  readonly #adapter: Pick<PlatformAdapter, "identify">;
  readonly #pacer: Pick<Pacer, "pauseUntil">;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #isOn = false;

  constructor(
    adapter: Pick<PlatformAdapter, "identify">,
    pacer: Pick<Pacer, "pauseUntil">,
    clock: Clock,
    signal: AbortSignal,
  ) {
    this.#adapter = adapter;
    this.#pacer = pacer;
    this.#clock = clock;
    this.#signal = signal;
  }

  /** How a call ended that showed nothing for certain. */
  reportFailure(trouble: PlatformFailure): void {
    const isAway = trouble.status === "unknown" || (trouble.status === "later" && trouble.isAway);
    if (!isAway || this.#isOn) return;
    this.#isOn = true;
    this.#pacer.pauseUntil(this.#pass());
  }

  async #pass(): Promise<void> {
    for (let pause = firstProbeMs; !this.#signal.aborted; pause = nextProbeMs(pause)) {
      const answer = await this.#adapter.identify(this.#signal);
      // Whatever it says, it is there to say it.
      if (answer.status === "identified" || answer.status === "refused") break;
      const asked = answer.status === "later" ? answer.afterMs : 0;
      await this.#clock.sleep(Math.max(pause, asked), this.#signal);
    }
    this.#isOn = false;
  }
}

function nextProbeMs(pause: number): number {
  return Math.min(maxProbeMs, pause * 2);
}
