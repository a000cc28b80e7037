export type { PlatformAdapter, Incoming, ChatAddress, PlatformFailure } from "./adapter.ts";
export { type Gateway, type GatewayDeps, openGateway } from "./gateway.ts";
export { pushPath } from "./inbound/push-route.ts";
export { createTelegramAdapter } from "./platforms/telegram/adapter.ts";
export { type Webhook, type WebhookLookup } from "./platforms/webhook/webhook.ts";
export { type PostResult, receivePost } from "./platforms/webhook/receive-post.ts";
export { createWebhookAdapter } from "./platforms/webhook/webhook-adapter.ts";
export { webhookAddressing } from "./platforms/webhook/names.ts";
export { webhookAccess } from "./platforms/webhook/guests.ts";
