export type { Adapter, Incoming, Place, Trouble } from "./adapter.ts";
export { type Gateway, type GatewayDeps, openGateway } from "./gateway.ts";
export { hookPath } from "./webhook.ts";
export { openTelegram } from "./telegram/index.ts";
