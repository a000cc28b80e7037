import { botToken, FakeBotApi } from "@holdfast/testing/telegram/fake-bot-api";
import { type ServedHost, startHost } from "../host/served-host.ts";
import type { BenchDatabase } from "../store/bench-database.ts";

export interface Bot extends AsyncDisposable {
  readonly platform: FakeBotApi;
  readonly host: ServedHost;
}

export const hookSecret = "what-the-platform-shows";

/** Nobody polls for it: updates are pushed from here. */
const pushed = {
  HOLDFAST_TELEGRAM_WEBHOOK: "https://holdfast.example.org",
  HOLDFAST_TELEGRAM_WEBHOOK_SECRET: hookSecret,
};

/** A host with a bot that this many people may talk to; they are numbered from 1. */
export async function startBot(
  { address, folder }: BenchDatabase,
  people: number,
  how: "pushed" | "asked for" = "asked for",
): Promise<Bot> {
  const platform = new FakeBotApi();
  await platform.start();
  const ready = Promise.withResolvers<void>();
  const last = how === "pushed" ? "setWebhook" : "getUpdates";
  platform.faults.before = (method) => void (method === last && ready.resolve());
  const host = await startHost(address, folder, {
    HOLDFAST_TELEGRAM_TOKEN: botToken,
    HOLDFAST_TELEGRAM_API_ROOT: platform.address,
    HOLDFAST_TELEGRAM_ALLOW: Array.from({ length: people }, (_, index) => index + 1).join(","),
    ...(how === "pushed" && pushed),
  });
  await ready.promise;
  return {
    platform,
    host,
    async [Symbol.asyncDispose]() {
      await host[Symbol.asyncDispose]();
      await platform.stop();
    },
  };
}
