import type { Config } from "../ops/config/settings.ts";
import { done, type Outcome } from "../util/outcome.ts";
import { type ConnectionDeps, type BotConnection, openBotConnection } from "./bot-connection.ts";
import { openWebhookConnections, type WebhookConnections } from "./webhook-connections.ts";

/** Everything that speaks to a host by other ways than its own page and terminal: a bot, and programs. */
export interface Gateways {
  readonly bot: BotConnection;
  readonly webhooks: WebhookConnections;
  /** Whether there is anybody who may speak. */
  readonly hasConnections: () => boolean;
  start(): void;
  stop(): Promise<void>;
}

export async function openGateways(
  config: Config,
  parts: ConnectionDeps,
): Promise<Outcome<Gateways>> {
  const webhooks = openWebhookConnections(config, process.env, parts);
  if (!webhooks.ok) return webhooks;
  const bot = await openBotConnection(config, parts);
  if (!bot.ok) return bot;
  const both = [bot.value, webhooks.value];
  return done({
    bot: bot.value,
    webhooks: webhooks.value,
    hasConnections: () => bot.value.gateway() !== undefined || webhooks.value.list().length > 0,
    start: () => both.forEach((each) => each.start()),
    async stop() {
      await Promise.all(both.map((each) => each.stop()));
    },
  });
}
