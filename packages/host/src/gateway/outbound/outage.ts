import type { Clock } from "@holdfast/engine";

import type { Adapter, Trouble } from "../adapter.ts";
import type { Pacer } from "./pace.ts";

const firstPauseMs = 500;
const longestPauseMs = 15_000;

/**
 * While a platform is away nothing is sent to it: each try might be one of which nobody can say whether it arrived. A
 * question that changes nothing finds out when it is back.
 */
export class Outage {
  readonly #adapter: Pick<Adapter, "identify">;
  readonly #pacer: Pick<Pacer, "shutUntil">;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #isOn = false;

  constructor(
    adapter: Pick<Adapter, "identify">,
    pacer: Pick<Pacer, "shutUntil">,
    clock: Clock,
    signal: AbortSignal,
  ) {
    this.#adapter = adapter;
    this.#pacer = pacer;
    this.#clock = clock;
    this.#signal = signal;
  }

  /** How a call ended that showed nothing for certain. */
  met(trouble: Trouble): void {
    const isAway = trouble.status === "unknown" || (trouble.status === "later" && trouble.isAway);
    if (!isAway || this.#isOn) return;
    this.#isOn = true;
    this.#pacer.shutUntil(this.#pass());
  }

  async #pass(): Promise<void> {
    for (let pause = firstPauseMs; !this.#signal.aborted; pause = longer(pause)) {
      const answer = await this.#adapter.identify(this.#signal);
      // Whatever it says, it is there to say it.
      if (answer.status === "identified" || answer.status === "refused") break;
      const asked = answer.status === "later" ? answer.afterMs : 0;
      await this.#clock.sleep(Math.max(pause, asked), this.#signal);
    }
    this.#isOn = false;
  }
}

function longer(pause: number): number {
  return Math.min(longestPauseMs, pause * 2);
}
