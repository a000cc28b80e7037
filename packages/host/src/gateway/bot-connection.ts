import { systemClock } from "@holdfast/engine";
import { type Client, createClient } from "@holdfast/client";
import { ids, ownerId } from "@holdfast/protocol";
import { createLiveness, currentHolder } from "@holdfast/store/identity";
import type { Hono } from "hono";

import type { BotAdmin, ConnectResult } from "../server/api/gateway.ts";
import type { Config } from "../ops/config/settings.ts";
import { done, failed, type Outcome } from "../util/outcome.ts";
import type { Gateway, GatewayDeps } from "./gateway.ts";
import type { HostEnv, Route } from "../server/http/routing.ts";
import type { Secrets } from "../ops/secrets/secrets.ts";
import { serialQueue } from "../util/serial-queue.ts";

/** The host's one bot: named in the configuration, or connected and disconnected on the page while the host runs. */
export interface BotConnection extends BotAdmin {
  /** Where the platform pushes updates. Only a configured bot uses push. */
  readonly routes: readonly Route[];
  start(): void;
  stop(): Promise<void>;
}

export interface ConnectionDeps extends Pick<GatewayDeps, "log" | "runner" | "memory" | "client"> {
  readonly secrets: Secrets;
  readonly report: (bug: Error) => void;
}

const secretName = "telegram";
const identifyTimeoutMs = 15_000;

/** Loads the gateway code only once there is a bot. */
export async function openBotConnection(
  config: Config,
  deps: ConnectionDeps,
): Promise<Outcome<BotConnection>> {
  const webhook = readPushWebhook(config);
  if (!webhook.ok) return webhook;
  const pushWebhook = webhook.value;
  const apiRoot = config.telegramApiRoot.value;
  const hasGatewayRole = config.roles.value.includes("gateway");
  let open: { readonly gateway: Gateway; readonly by: "configuration" | "page" } | undefined;
  let hasStarted = false;
  /** Stops the old bot before the next one starts. */
  const enqueue = serialQueue();

  async function openBot(token: string, by: "configuration" | "page"): Promise<void> {
    open = {
      gateway: await openTelegramGateway(
        config,
        deps,
        token,
        by === "page" ? undefined : pushWebhook,
      ),
      by,
    };
    if (hasStarted) open.gateway.start();
  }

  async function closeBot(): Promise<void> {
    const closing = open;
    open = undefined;
    await closing?.gateway.stop();
  }

  async function connect(token: string): Promise<ConnectResult> {
    if (open?.by === "configuration") return { status: "configured" };
    if (!hasGatewayRole) return { status: "elsewhere" };
    const { createTelegramAdapter } = await import("./platforms/telegram/adapter.ts");
    const adapter = await createTelegramAdapter({ token, apiRoot });
    const identity = await adapter.identify(AbortSignal.timeout(identifyTimeoutMs));
    if (identity.status !== "identified") {
      const isRefused = identity.status === "refused" || identity.code === "token_refused";
      return { status: isRefused ? "refused" : "unreachable", message: identity.message };
    }
    await deps.secrets.put(secretName, { key: token, baseUrl: apiRoot });
    await closeBot();
    await openBot(token, "page");
    return { status: "connected", bot: { id: identity.id, name: identity.name } };
  }

  async function disconnect(): Promise<"disconnected" | "configured" | "none"> {
    if (open?.by === "configuration") return "configured";
    const wasStored = await deps.secrets.remove(secretName);
    const wasOpen = open !== undefined;
    await closeBot();
    return wasStored || wasOpen ? "disconnected" : "none";
  }

  const configured = config.telegramToken.value;
  const stored = deps.secrets.read(secretName);
  if (configured !== undefined) await openBot(configured, "configuration");
  // Send a token only to the server it was entered for.
  else if (stored?.baseUrl === apiRoot) await openBot(stored.key, "page");
  return done({
    routes: open?.gateway.routes ?? [],
    gateway: () => open?.gateway,
    connectedBy: () => open?.by ?? null,
    connect: (token) => enqueue(() => connect(token)),
    disconnect: () => enqueue(disconnect),
    start() {
      hasStarted = true;
      open?.gateway.start();
    },
    stop: () => enqueue(closeBot),
  });
}

function readPushWebhook({
  telegramWebhook,
  telegramWebhookSecret,
  basePath,
}: Config): Outcome<PushWebhook> {
  const url = telegramWebhook.value;
  const secret = telegramWebhookSecret.value;
  if (url === undefined) return done(undefined);
  if (secret === undefined)
    return failed(
      "config.invalid",
      "A webhook without a secret would take anything from anybody: set HOLDFAST_TELEGRAM_WEBHOOK_SECRET to 16 or more letters and digits.",
    );
  return done({ url: `${url}${basePath.value}`, secret });
}

type PushWebhook = { readonly url: string; readonly secret: string } | undefined;

async function openTelegramGateway(
  config: Config,
  { log, runner, memory, client, report }: ConnectionDeps,
  token: string,
  pushWebhook: PushWebhook,
): Promise<Gateway> {
  const { openGateway, createTelegramAdapter, pushPath } = await import("./index.ts");
  return openGateway({
    log,
    runner,
    memory,
    ids,
    clock: systemClock,
    holder: currentHolder.bind(undefined, "gateway"),
    liveness: createLiveness(),
    leaseMs: config.leaseMs.value,
    newSessionMode: config.sessionMode.value,
    owner: ownerId.parse("owner"),
    client,
    platform: "telegram",
    openAdapter: () => createTelegramAdapter({ token, apiRoot: config.telegramApiRoot.value }),
    allowedPeople: config.telegramAllow.value,
    pushWebhook: pushWebhook && { ...pushWebhook, url: `${pushWebhook.url}${pushPath}` },
    onError: (error) => report(error instanceof Error ? error : new Error(String(error))),
  });
}

/** The API for callers in the same process. */
export function createInProcessClient(app: Hono<HostEnv>, token: string, basePath: string): Client {
  return createClient({
    baseUrl: `http://127.0.0.1${basePath}`,
    token,
    fetch: (url, init) => app.request(url, init, {}),
  });
}
