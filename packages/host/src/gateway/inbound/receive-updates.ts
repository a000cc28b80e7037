import type { GatewayView } from "@holdfast/protocol";

import type { Identity, Trouble } from "../adapter.ts";

type Shown = Pick<GatewayView, "state" | "bot" | "trouble">;

export type Standing =
  | { readonly state: "starting" | "receiving" }
  /** Somebody else receives for this bot: another host, or another program. */
  | { readonly state: "contended" | "trouble"; readonly code: string; readonly message: string };

/** How a gateway stands, for whoever looks. */
export class Status {
  #shown: Shown = { state: "starting", bot: null, trouble: null };

  get shown(): Shown {
    return this.#shown;
  }

  identified({ id, name }: Identity): void {
    this.#shown = { ...this.#shown, bot: { id, name } };
  }

  moved(to: Standing): void {
    const { bot } = this.#shown;
    const trouble = "code" in to ? { code: to.code, message: to.message } : null;
    this.#shown = { state: to.state, bot, trouble };
  }

  failed({ code, message }: Trouble): void {
    this.moved({ state: "trouble", code, message });
  }
}
