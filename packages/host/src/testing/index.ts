export { type AdapterBed, adapterCases } from "./adapter-cases.ts";
export { type ApiOptions, type ApiRig, openApi } from "./api-rig.ts";
export * from "./api-words.ts";
export { type BotOptions, openGatewayOn, openHastyTelegram } from "./bot.ts";
export { fillPath } from "./fill-path.ts";
export { broken, fitting } from "./from-schema.ts";
export { serveOpenViking } from "./openviking-server.ts";
export { openServer, readAll, statusIn } from "./raw.ts";
export { runHere, serveHere } from "./command-rig.ts";
export { openProcesses, openProcessHost, untilTold } from "./processes.ts";
export { type HookAnswer, isSigned, openHookReceiver } from "./hook-receiver.ts";
export { adapterFor, aHook, hookSecret, openWebhookRig, type WebhookRig } from "./webhooks.ts";
export { KeptSchedules } from "../schedules/index.ts";
export { type Away, SimulatedPlatform } from "./simulated-platform.ts";
export { memorySecrets, modelsOf, noModelConfig } from "./models.ts";
export * from "./provider-bed.ts";
export {
  openProviderServer,
  type ProviderServer,
  refuses,
  type ServerAnswer,
} from "./provider-server.ts";
export * from "./provider-words.ts";
export { type McpRig, openMcpRig, readDiary, strangeServer } from "./mcp-rig.ts";
export { type Answer, openWebServer } from "./mcp-web-server.ts";
export { withoutFiles } from "./without-files.ts";
export { TerminalWindow } from "./terminal-window.ts";
