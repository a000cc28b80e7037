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

/** The one bot of a host: named in the configuration, or connected on the page and let go there while the host runs. */
export interface BotConnection extends BotAdmin {
  /** What a platform pushes to. Only a bot of the configuration has that. */
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

/** Nothing of the gateway is loaded before there is a bot. */
export async function openBotConnection(
  config: Config,
  parts: ConnectionDeps,
): Promise<Outcome<BotConnection>> {
  const hook = readPushWebhook(config);
  if (!hook.ok) return hook;
  const pushedTo = hook.value;
  const apiRoot = config.telegramApiRoot.value;
  const isHere = config.roles.value.includes("gateway");
  let open: { readonly gateway: Gateway; readonly by: "configuration" | "page" } | undefined;
  let hasStarted = false;
  /** A bot that is let go of is gone before the next one comes. */
  const inTurn = serialQueue();

  async function take(token: string, by: "configuration" | "page"): Promise<void> {
    open = {
      gateway: await openTelegramGateway(
        config,
        parts,
        token,
        by === "page" ? undefined : pushedTo,
      ),
      by,
    };
    if (hasStarted) open.gateway.start();
  }

  async function letGo(): Promise<void> {
    const gone = open;
    open = undefined;
    await gone?.gateway.stop();
  }

  async function connect(token: string): Promise<ConnectResult> {
    if (open?.by === "configuration") return { status: "configured" };
    if (!isHere) return { status: "elsewhere" };
    const { createTelegramAdapter } = await import("./platforms/telegram/adapter.ts");
    const adapter = await createTelegramAdapter({ token, apiRoot });
    const me = await adapter.identify(AbortSignal.timeout(identifyTimeoutMs));
    if (me.status !== "identified") {
      const isBad = me.status === "refused" || me.code === "token_refused";
      return { status: isBad ? "refused" : "unreachable", message: me.message };
    }
    await parts.secrets.put(secretName, { key: token, baseUrl: apiRoot });
    await letGo();
    await take(token, "page");
    return { status: "connected", bot: { id: me.id, name: me.name } };
  }

  async function disconnect(): Promise<"disconnected" | "configured" | "none"> {
    if (open?.by === "configuration") return "configured";
    const wasKept = await parts.secrets.remove(secretName);
    const wasOpen = open !== undefined;
    await letGo();
    return wasKept || wasOpen ? "disconnected" : "none";
  }

  const configured = config.telegramToken.value;
  const kept = parts.secrets.read(secretName);
  if (configured !== undefined) await take(configured, "configuration");
  // A token goes to the server that it was given for, and to no other.
  else if (kept?.baseUrl === apiRoot) await take(kept.key, "page");
  return done({
    routes: open?.gateway.routes ?? [],
    gateway: () => open?.gateway,
    connectedBy: () => open?.by ?? null,
    connect: (token) => inTurn(() => connect(token)),
    disconnect: () => inTurn(disconnect),
    start() {
      hasStarted = true;
      open?.gateway.start();
    },
    stop: () => inTurn(letGo),
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
  hook: PushWebhook,
): Promise<Gateway> {
  const { openGateway, createTelegramAdapter, pushPath } = await import("./index.ts");
  return openGateway({
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
    openAdapter: () => createTelegramAdapter({ token, apiRoot: config.telegramApiRoot.value }),
    allowedPeople: config.telegramAllow.value,
    pushWebhook: hook && { ...hook, url: `${hook.url}${pushPath}` },
    onError: (error) => report(error instanceof Error ? error : new Error(String(error))),
  });
}

/** The API for who is in the same process. */
export function createInProcessClient(app: Hono<HostEnv>, token: string, basePath: string): Client {
  return createClient({
    baseUrl: `http://127.0.0.1${basePath}`,
    token,
    fetch: (url, init) => app.request(url, init, {}),
  });
}
