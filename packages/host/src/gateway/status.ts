import type { GatewayView } from "@holdfast/protocol";

import type { Identity, Trouble } from "./adapter.ts";
import type { PollerState } from "./poller.ts";

type Shown = Pick<GatewayView, "state" | "bot" | "trouble">;

/** How a gateway stands, for whoever looks. */
export class Status {
  #shown: Shown = { state: "starting", bot: null, trouble: null };

  get shown(): Shown {
    return this.#shown;
  }

  identified({ id, name }: Identity): void {
    this.#shown = { ...this.#shown, bot: { id, name } };
  }

  moved(to: PollerState): void {
    const { bot } = this.#shown;
    const trouble = to.state === "trouble" ? { code: to.code, message: to.message } : null;
    this.#shown = { state: to.state, bot, trouble };
  }

  failed({ code, message }: Trouble): void {
    this.moved({ state: "trouble", code, message });
  }
}
