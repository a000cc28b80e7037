export type { Adapter, Incoming, Place, Trouble } from "./adapter.ts";
export { type Gateway, type GatewayDeps, openGateway } from "./gateway.ts";
export { hookPath } from "./push-route.ts";
export { openTelegram } from "./telegram/index.ts";
export {
  type Hook,
  type Hooks,
  type HookTaken,
  openWebhookAdapter,
  takePosted,
  webhookNames,
  whoeverSigned,
} from "./webhook/index.ts";
