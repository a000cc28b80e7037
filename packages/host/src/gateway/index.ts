export type { Adapter, Incoming, Place, Trouble } from "./adapter.ts";
export { type Gateway, type GatewayDeps, openGateway } from "./gateway.ts";
export { hookPath } from "./inbound/push-route.ts";
export { openTelegram } from "./platforms/telegram/adapter.ts";
export { type Hook, type Hooks } from "./platforms/webhook/webhook.ts";
export { type HookTaken, takePosted } from "./platforms/webhook/receive-post.ts";
export { openWebhookAdapter } from "./platforms/webhook/webhook-adapter.ts";
export { webhookNames } from "./platforms/webhook/names.ts";
export { whoeverSigned } from "./platforms/webhook/guests.ts";
