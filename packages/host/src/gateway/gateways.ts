import type { Config } from "../ops/config/settings.ts";
import { done, type Outcome } from "../util/outcome.ts";
import { type BotParts, type BotPlace, openBotPlace } from "./bot-connection.ts";
import { openWebhooks, type WebhookPlace } from "./webhook-connections.ts";

/** Everything that speaks to a host by other ways than its own page and terminal: a bot, and programs. */
export interface Chats {
  readonly bot: BotPlace;
  readonly webhooks: WebhookPlace;
  /** Whether there is anybody who may speak. */
  readonly isAnybodyThere: () => boolean;
  start(): void;
  stop(): Promise<void>;
}

export async function openChats(config: Config, parts: BotParts): Promise<Outcome<Chats>> {
  const webhooks = openWebhooks(config, process.env, parts);
  if (!webhooks.ok) return webhooks;
  const bot = await openBotPlace(config, parts);
  if (!bot.ok) return bot;
  const both = [bot.value, webhooks.value];
  return done({
    bot: bot.value,
    webhooks: webhooks.value,
    isAnybodyThere: () => bot.value.desk() !== undefined || webhooks.value.list().length > 0,
    start: () => both.forEach((each) => each.start()),
    async stop() {
      await Promise.all(both.map((each) => each.stop()));
    },
  });
}
