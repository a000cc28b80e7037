export { openWebhookAdapter } from "./adapter.ts";
export { whoeverSigned } from "./guests.ts";
export type { Hook, Hooks } from "./hooks.ts";
export { type HookTaken, takePosted } from "./intake.ts";
export { webhookNames } from "./names.ts";
