import { onTestFinished } from "vitest";

import { botToken, FakeBotApi, type ShownMessage } from "@holdfast/testing/telegram/fake-bot-api";
import { serveWithClient } from "./served-host.ts";

export async function startFakeBotApi(): Promise<FakeBotApi> {
  const platform = new FakeBotApi();
  await platform.start();
  onTestFinished(() => platform.stop());
  return platform;
}

/** A host process whose bot is on this platform. Person 7 may talk to it. */
export function serveBot(platform: FakeBotApi, settings: Record<string, string> = {}) {
  return serveWithClient({
    HOLDFAST_TELEGRAM_TOKEN: botToken,
    HOLDFAST_TELEGRAM_API_ROOT: platform.address,
    HOLDFAST_TELEGRAM_ALLOW: "7,8,9",
    HOLDFAST_LEASE_MS: "3000",
    ...settings,
  });
}

/** Resolves when a shown message meets the condition. */
export function untilShown(
  platform: FakeBotApi,
  isThere: (messages: readonly ShownMessage[]) => boolean,
): Promise<void> {
  return new Promise((resolve) => {
    const before = platform.onShown;
    const look = () => {
      if (isThere(platform.messages)) resolve();
    };
    platform.onShown = (message) => {
      before(message);
      look();
    };
    look();
  });
}

export const showsText = (text: string) => (messages: readonly ShownMessage[]) =>
  messages.some((message) => message.from === "bot" && message.text.includes(text));
