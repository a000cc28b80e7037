export type { PlatformAdapter, Incoming, ChatAddress, PlatformFailure } from "./adapter.ts";
export { type Gateway, type GatewayDeps, openGateway } from "./gateway.ts";
export { pushPath } from "./inbound/receive-updates.ts";
export { createTelegramAdapter } from "./platforms/telegram/adapter.ts";
export { type Webhook, type WebhookLookup } from "./platforms/webhook/webhook.ts";
export { type PostResult, receivePost } from "./platforms/webhook/receive-post.ts";
export { createWebhookAdapter } from "./platforms/webhook/adapter.ts";
export { webhookAddressing } from "./platforms/webhook/webhook.ts";
export { webhookAccess } from "./platforms/webhook/webhook.ts";
