import { fileURLToPath } from "node:url";
import type { Hono } from "hono";
import { type Config } from "./ops/config/settings.ts";
import { done, type Outcome } from "./util/outcome.ts";
import { isWildcard, type HostEnv } from "./server/http/routing.ts";
import { listen } from "./server/http/server.ts";
import { loadPage, type Page } from "./server/http/page.ts";
import { type OpeningStore, closeStoreAndReturn, openStore } from "./open-store.ts";
import { type Logger } from "./ops/telemetry/logger.ts";
import { fileLimitWarning } from "./ops/health/process-limits.ts";
import { type Runner, systemClock } from "@holdfast/engine";
import { type Client } from "@holdfast/client";
import { ids, ownerId } from "@holdfast/protocol";
import { currentHolder } from "@holdfast/store/identity";
import { apiRoutes } from "./server/api/routes.ts";
import {
  createAuthenticator,
  type Authenticator,
  openSignInFile,
} from "./server/auth/authenticator.ts";
import { openPasswordFile } from "./server/auth/password.ts";
import { chooseToken, strongTokenLength } from "./server/auth/token.ts";
import { prepareHome } from "./ops/config/home.ts";
import { type Role, roleNames } from "./ops/config/operation-settings.ts";
import { createAgentRuntime } from "./agent/runtime.ts";
import { createOrphanReaper } from "./automation/delegate/orphan-reaper.ts";
import { createToolset } from "./agent/toolset.ts";
import { createHealthCheck } from "./ops/health/health.ts";
import { createHttpApp } from "./server/http/http-app.ts";
import {
  createAnonymousConnections,
  type AnonymousConnections,
} from "./server/http/anonymous-clients.ts";
import { createLifecycle, type Lifecycle } from "./lifecycle.ts";
import { openMcp } from "./agent/mcp/mcp.ts";
import { openConfiguredMemory } from "./agent/memory/providers.ts";
import { type Gateways, openGateways } from "./gateway/gateways.ts";
import { createInProcessClient } from "./gateway/bot-connection.ts";
import { checkNotifyConfig, openConfiguredNotifier } from "./automation/notify/open-notifier.ts";
import { openModelRegistry } from "./agent/models/registry.ts";
import { openScheduler } from "./automation/schedules/scheduler.ts";
import { createProcessWatcher } from "./automation/processes/process-watcher.ts";
import { createRedactor } from "./ops/secrets/redact.ts";
import { createMetrics } from "./ops/telemetry/metrics.ts";
import { openTelemetry } from "./ops/telemetry/open-telemetry.ts";
import { createOutageReporter, monitorWrites } from "./ops/health/store-health.ts";
import { version } from "./util/version.ts";

export interface RunningHost {
  readonly address: string;
  /** Where it is reached from this machine, whatever a proxy calls it. */
  readonly localAddress: string;
  /** Signs a browser in; works once. */
  readonly signInLink: string;
  stop(): Promise<void>;
}

const pageFolder = fileURLToPath(new URL("../../web/dist", import.meta.url));

/** Serves the page and the API on the address that the settings name. */
export async function startHost(
  config: Config,
  logger: Logger,
  begun?: OpeningStore,
): Promise<Outcome<RunningHost>> {
  const files = fileLimitWarning();
  if (files !== undefined) logger.warn(files);
  const page = config.roles.value.includes("web") ? loadPage(pageFolder) : done([]);
  if (!page.ok) return closeStoreAndReturn(page, begun);
  const opened = await openApp(config, logger, page.value, begun);
  if (!opened.ok) return opened;
  const {
    httpApp: app,
    authenticator: doorkeeper,
    anonymousConnections: strangers,
    gateways: chats,
    start: begin,
    stop,
  } = opened.value;
  const { host, origin, basePath } = config;
  const listener = await listen(app, {
    host: host.value,
    port: config.port.value,
    anonymousConnections: strangers,
  });
  if (!listener.ok) {
    await stop();
    return listener;
  }
  const server = listener.value;
  const ownOrigin = originOf(host.value, server.port);
  const address = `${origin.value ?? ownOrigin}${basePath.value}/`;
  begin(address);
  if (config.roles.value.includes("gateway")) chats.start();
  return done({
    address,
    localAddress: `${ownOrigin}${basePath.value}/`,
    // Behind the hash it is sent to no server and stands in no log.
    signInLink: `${address}#signin=${doorkeeper.issueSignInCode()}`,
    stop: () => stop(() => server.close()),
  });
}

/** Where a host on this machine is asked. */
export function originOf(host: string, port: number): string {
  if (isWildcard(host)) return `http://127.0.0.1:${port}`;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** A host without a port: whoever is in this process asks its app. */
export interface App extends Lifecycle {
  readonly httpApp: Hono<HostEnv>;
  readonly token: string;
  readonly authenticator: Authenticator;
  readonly anonymousConnections: AnonymousConnections;
  /** Taken up by who serves; a terminal that has a host of its own leaves the chats alone. */
  readonly gateways: Pick<Gateways, "start" | "stop">;
}

/** The composition root: every piece is made here and handed to those that need it. */
export async function openApp(
  config: Config,
  logger: Logger,
  page?: Page,
  begun?: OpeningStore,
): Promise<Outcome<App>> {
  const home = prepareHome(config.home.value);
  if (!home.ok) return closeStoreAndReturn(home, begun);
  const token = chooseToken(config);
  if (!token.ok) return closeStoreAndReturn(token, begun);
  const notifying = checkNotifyConfig(config);
  if (!notifying.ok) return closeStoreAndReturn(notifying, begun);
  const memories = await openConfiguredMemory(config);
  if (!memories.ok) return closeStoreAndReturn(memories, begun);
  const opened = await (begun ?? openStore(config, logger.report));
  if (!opened.ok) return opened;

  const stopping = new AbortController();
  const closing = new AbortController();
  const report = createOutageReporter({
    isHealthy: async () => (await health()).store.ready,
    clock: systemClock,
    logger,
    stopping: stopping.signal,
  });
  const writes = monitorWrites(opened.value, { clock: systemClock, onFailure: report });
  const { store } = writes;
  const { models, secrets } = openModelRegistry(config, process.env, report);
  const mcp = openMcp({
    servers: config.mcp.value,
    environment: process.env,
    secrets,
    store: store,
    log: (line) => logger.info(`mcp ${line}`),
  });
  const hands = createToolset(config, store);
  const telemetry = await openTelemetry(process.env, report);
  const metrics = createMetrics(telemetry?.exportSpan);
  const talk = await createAgentRuntime(
    config,
    store,
    models,
    memories.value,
    hands,
    report,
    mcp,
    metrics.observe,
  );
  const {
    log,
    runner,
    storageStatus: storing,
    titles,
    compactor,
    memory,
    reviews,
    prompt,
    journals,
  } = talk;
  metrics.watchAgents(() => talk.agents.figures());
  // Whoever asks without a port asks this process for everything.
  const roles = new Set<Role>(page === undefined ? roleNames : config.roles.value);
  const health = createHealthCheck({
    store,
    writes,
    clock: systemClock,
    stopping: stopping.signal,
    roles: [...roles],
  });
  const signIns = openSignInFile(config.home.value, token.value);
  const doorkeeper = createAuthenticator(token.value, Date.now, signIns);
  const passwords = openPasswordFile(config.home.value);
  const strangers = createAnonymousConnections();
  const redact = createRedactor(() => [
    token.value,
    ...models.keys(),
    ...mcp.secrets,
    ...[config.telegramToken, config.notifySecret].flatMap(({ value }) => value ?? []),
    ...(chats.ok ? chats.value.webhooks.secrets() : []),
  ]);
  const { host, origin, basePath } = config;
  const client = (): Client => createInProcessClient(app, token.value, basePath.value);
  const pokes = roles.has("runner") ? runner : withoutLocalRuns(runner);
  const chats = await openGateways(config, { log, memory, runner: pokes, client, secrets, report });
  if (!chats.ok) {
    await store.close();
    return chats;
  }
  const { bot, webhooks, hasConnections: isAnybodyThere } = chats.value;
  const api = apiRoutes({
    bot,
    webhooks,
    log,
    toolset: hands,
    ids,
    runner: pokes,
    storageStatus: storing,
    compactor,
    memory,
    reviews,
    prompt,
    ...(journals && { journals }),
    mcp,
    processes: hands.processes,
    models,
    secrets,
    authenticator: doorkeeper,
    passwords,
    redact,
    metrics,
    home: config.home.value,
    basePath: basePath.value,
    clock: systemClock,
    holder: () => currentHolder("api"),
    stopping: stopping.signal,
    closing: closing.signal,
    report,
  });
  const app: Hono<HostEnv> = createHttpApp({
    version,
    page: page ?? [],
    authenticator: doorkeeper,
    passwords,
    anonymousConnections: strangers,
    tokenStrength: token.value.length < strongTokenLength ? "guessable" : "strong",
    proxies: config.proxies.value,
    host: host.value,
    origin: origin.value,
    basePath: basePath.value,
    pushRoutes: bot.routes,
    // A chat's commands go through the same API, in this process.
    api: roles.has("web") || isAnybodyThere() ? api : api.filter(isMonitoringRoute),
    health,
    report: (bug, fields) => logger.report(bug, fields),
    logger,
  });
  const owner = ownerId.parse("owner");
  const life = createLifecycle({
    store: store,
    roles,
    gateways: chats.value,
    mcp,
    runner,
    titles,
    memory,
    reviews,
    telemetry,
    scheduler: openScheduler(log, runner, report),
    children: createOrphanReaper({ log, ids, clock: systemClock, owner, runner, report }),
    processes: createProcessWatcher({
      log,
      ids,
      clock: systemClock,
      owner,
      manager: hands.processes,
      runner,
      reports: config.processReports.value,
      turnsInARow: config.processTurns.value,
      report,
    }),
    notifier: await openConfiguredNotifier(config, store, redact, logger),
    logger,
    stopping,
    closing,
  });
  return done({
    httpApp: app,
    token: token.value,
    authenticator: doorkeeper,
    anonymousConnections: strangers,
    gateways: chats.value,
    ...life,
  });
}

/** Work is found by whoever runs here or elsewhere; this process only takes it in. */
function withoutLocalRuns(runner: Runner): Pick<Runner, "notify" | "recoverLateJournals"> {
  return {
    notify: () => undefined,
    recoverLateJournals: (...read) => runner.recoverLateJournals(...read),
  };
}

/** Those who watch over a host that serves no people see how it is, and nothing else. */
function isMonitoringRoute({ path }: { readonly path: string }): boolean {
  return path === "/metrics";
}
