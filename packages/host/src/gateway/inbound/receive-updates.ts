import type { GatewayView } from "@holdfast/protocol";

import type { BotIdentity, PlatformFailure } from "../adapter.ts";

type StatusView = Pick<GatewayView, "state" | "bot" | "trouble">;

export type GatewayState =
  | { readonly state: "starting" | "receiving" }
  /** Somebody else receives for this bot: another host, or another program. */
  | { readonly state: "contended" | "trouble"; readonly code: string; readonly message: string };

/** How a gateway stands, for whoever looks. */
export class GatewayStatus {
  #shown: StatusView = { state: "starting", bot: null, trouble: null };

  get view(): StatusView {
    return this.#shown;
  }

  setIdentity({ id, name }: BotIdentity): void {
    this.#shown = { ...this.#shown, bot: { id, name } };
  }

  setState(to: GatewayState): void {
    const { bot } = this.#shown;
    const trouble = "code" in to ? { code: to.code, message: to.message } : null;
    this.#shown = { state: to.state, bot, trouble };
  }

  setFailure({ code, message }: PlatformFailure): void {
    this.setState({ state: "trouble", code, message });
  }
}
