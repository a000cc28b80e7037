import { systemClock } from "@holdfast/engine";
import { type Client, createClient, ids, ownerId } from "@holdfast/protocol";
import { createLiveness, currentHolder } from "@holdfast/store/identity";
import type { Hono } from "hono";

import type { Config } from "./config/index.ts";
import { done, failed, type Outcome } from "./failure.ts";
import type { Gateway, GatewayDeps } from "./gateway/index.ts";
import type { HostEnv } from "./http/index.ts";

/** The chat gateway, where a bot is configured. Nothing of it is loaded otherwise. */
export async function openConfiguredGateway(
  config: Config,
  { log, runner, memory }: Pick<GatewayDeps, "log" | "runner" | "memory">,
  client: () => Client,
  report: (bug: Error) => void,
): Promise<Outcome<Gateway | undefined>> {
  const token = config.telegramToken.value;
  if (token === undefined) return done(undefined);
  const url = config.telegramWebhook.value;
  const secret = config.telegramWebhookSecret.value;
  if (url !== undefined && secret === undefined)
    return failed(
      "config.invalid",
      "A webhook without a secret would take anything from anybody: set HOLDFAST_TELEGRAM_WEBHOOK_SECRET to 16 or more letters and digits.",
    );
  const { openGateway, openTelegram, hookPath } = await import("./gateway/index.ts");
  const address = `${url}${config.basePath.value}${hookPath}`;
  return done(
    openGateway({
      log,
      runner,
      memory,
      ids,
      clock: systemClock,
      holder: () => currentHolder("gateway"),
      liveness: createLiveness(),
      leaseMs: config.leaseMs.value,
      owner: ownerId.parse("owner"),
      client,
      platform: "telegram",
      openAdapter: () => openTelegram({ token, apiRoot: config.telegramApiRoot.value }),
      listed: config.telegramAllow.value,
      hook: url === undefined || secret === undefined ? undefined : { url: address, secret },
      onError: (error) => report(error instanceof Error ? error : new Error(String(error))),
    }),
  );
}

/** The API for who is in the same process. */
export function clientWithin(app: Hono<HostEnv>, token: string, basePath: string): Client {
  return createClient({
    baseUrl: `http://127.0.0.1${basePath}`,
    token,
    fetch: (url, init) => app.request(url, init, {}),
  });
}
