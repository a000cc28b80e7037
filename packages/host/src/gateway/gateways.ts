import type { Config } from "../ops/config/settings.ts";
import { done, type Outcome } from "../util/outcome.ts";
import { type ConnectionDeps, type BotConnection, openBotConnection } from "./bot-connection.ts";
import { openWebhookConnections, type WebhookConnections } from "./webhook-connections.ts";

/** Everything that talks to a host other than its own page and terminal: a bot, and programs that use webhooks. */
export interface Gateways {
  readonly bot: BotConnection;
  readonly webhooks: WebhookConnections;
  /** Whether a bot or any webhook is connected. */
  readonly hasConnections: () => boolean;
  start(): void;
  stop(): Promise<void>;
}

export async function openGateways(
  config: Config,
  deps: ConnectionDeps,
): Promise<Outcome<Gateways>> {
  const webhooks = openWebhookConnections(config, process.env, deps);
  if (!webhooks.ok) return webhooks;
  const bot = await openBotConnection(config, deps);
  if (!bot.ok) return bot;
  const connections = [bot.value, webhooks.value];
  return done({
    bot: bot.value,
    webhooks: webhooks.value,
    hasConnections: () => bot.value.gateway() !== undefined || webhooks.value.list().length > 0,
    start: () => connections.forEach((connection) => connection.start()),
    async stop() {
      await Promise.all(connections.map((connection) => connection.stop()));
    },
  });
}
