import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Client } from "@holdfast/client";
import { systemClock } from "@holdfast/engine";
import { ids } from "@holdfast/protocol";
import { createLiveness, currentHolder } from "@holdfast/store/identity";
import { pageFolder } from "@holdfast/web";
import type { Hono } from "hono";
import { openAddedServers } from "./agent/mcp/added-servers.ts";
import { FileUndo } from "./agent/snapshots/file-undo.ts";
import { createSnapshotKeeper } from "./agent/snapshots/snapshot-keeper.ts";
import { openMcp } from "./agent/mcp/mcp.ts";
import { openSignInRows } from "./agent/mcp/sign-in/sign-in-rows.ts";
import { signInPageRoutes } from "./agent/mcp/sign-in/sign-in-routes.ts";
import { createSignIns } from "./agent/mcp/sign-in/sign-ins.ts";
import { openConfiguredMemory } from "./agent/memory/providers.ts";
import { createModelRegistry } from "./agent/models/registry.ts";
import { createModelDiscovery } from "./agent/models/servers/model-discovery.ts";
import { createServedModels } from "./agent/models/servers/served-models.ts";
import { createWebSearch } from "./agent/search/web-search.ts";
import { createAgentRuntime } from "./agent/runtime.ts";
import { confinementFor, createToolset } from "./agent/toolset.ts";
import { checkNotifyConfig } from "./automation/notify/open-notifier.ts";
import { createWorkers } from "./automation/workers.ts";
import { createInProcessClient } from "./gateway/bot-connection.ts";
import { type Gateways, openGateways } from "./gateway/gateways.ts";
import { openCluster, servedWithoutPeople } from "./hosts/cluster.ts";
import { createLifecycle, type Lifecycle } from "./lifecycle.ts";
import { closeStoreAndReturn, type OpeningStore, openStore } from "./open-store.ts";
import { lazyAuditKey } from "./ops/audit/audit-key.ts";
import { createAuditWorker, createTouchedSessions } from "./ops/audit/audit-worker.ts";
import { prepareHome } from "./ops/config/home.ts";
import { type Role, roleNames } from "./ops/config/operation-settings.ts";
import type { Config } from "./ops/config/settings.ts";
import { refuseUnfinishedCopy } from "./ops/full-export/unfinished-copy.ts";
import { followChanges } from "./ops/page-settings/follow-changes.ts";
import { createPageSettings } from "./ops/page-settings/page-settings.ts";
import { fileLimitWarning } from "./ops/health/process-limits.ts";
import { monitorStore } from "./ops/health/store-health.ts";
import { createRedactor } from "./ops/secrets/redact.ts";
import { openSecrets } from "./ops/secrets/secrets.ts";
import type { Logger } from "./ops/telemetry/logger.ts";
import { createMetrics } from "./ops/telemetry/metrics.ts";
import { openTelemetry } from "./ops/telemetry/open-telemetry.ts";
import type { Confinement } from "./sandbox/confinement.ts";
import { apiRoutes } from "./server/api/routes.ts";
import {
  createSignInLink,
  openAuthentication,
  tokenStrength,
} from "./server/auth/authentication.ts";
import type { Authenticator } from "./server/auth/authenticator.ts";
import { chooseToken } from "./server/auth/token.ts";
import {
  type AnonymousConnections,
  createAnonymousConnections,
} from "./server/http/anonymous-clients.ts";
import { createHttpApp } from "./server/http/http-app.ts";
import { loadPage, type Page } from "./server/http/page.ts";
import { createProtocols } from "./server/protocols.ts";
import { type HostEnv, originOf } from "./server/http/routing.ts";
import { listen } from "./server/http/server.ts";
import { done, type Outcome } from "./util/outcome.ts";
import { version } from "./util/version.ts";

/** A host without a port. Callers in this process send requests to `httpApp`. */
export interface App extends Omit<Lifecycle, "start"> {
  /** `address` is where people find the page, `local` where this process serves it. */
  readonly start: (address?: string, local?: string) => void;
  readonly httpApp: Hono<HostEnv>;
  readonly token: string;
  readonly authenticator: Authenticator;
  readonly anonymousConnections: AnonymousConnections;
  /** Started only by a host that serves: a terminal with a host of its own leaves chats alone. */
  readonly gateways: Pick<Gateways, "start" | "stop">;
}

/** The composition root: creates every component and passes it to the others. */
export async function openApp(
  given: Config,
  logger: Logger,
  page?: Page,
  opening?: OpeningStore,
): Promise<Outcome<App>> {
  const checked = await checkStartup(given);
  if (!checked.ok) return closeStoreAndReturn(checked, opening);
  const opened = await (opening ?? openStore(given, logger.report));
  if (!opened.ok) return opened;
  const finished = await refuseUnfinishedCopy(opened.value.store);
  if (!finished.ok) {
    await opened.value.store.close();
    return finished;
  }
  const pageSettings = createPageSettings(given, opened.value.store);
  await pageSettings.load();
  const { config } = pageSettings;
  const { token } = checked.value;
  const home = config.home.value;
  const basePath = config.basePath.value;
  const stopping = new AbortController();
  const closing = new AbortController();
  // Without a page the only caller is this process, and it may need everything.
  const roles = new Set<Role>(page === undefined ? roleNames : config.roles.value);

  const monitored = { clock: systemClock, logger, stopping: stopping.signal, roles: [...roles] };
  const { store } = opened.value;
  const { report, health, onLost } = await monitorStore(opened.value, monitored);
  const telemetry = await openTelemetry(process.env, report);
  const metrics = createMetrics(telemetry?.exportSpan);
  telemetry?.exportMetrics(metrics, store);

  const { secrets, rows: encrypted } = await openSecrets(config, store, report);
  const addedServers = openAddedServers(encrypted);
  // Also on SQLite: another process on the store may have changed a limit that applies to what runs here.
  const followed = [pageSettings, ...(store.kind === "postgres" ? [encrypted] : [])];
  followChanges(store, followed, stopping.signal);
  let ownAddress: string | null = null;
  const address = (): string | null =>
    config.origin.value === undefined ? ownAddress : `${config.origin.value}${basePath}`;
  const signIns = createSignIns({
    rows: openSignInRows(encrypted),
    address,
    egressAllow: config.egressAllow.value,
    store,
    clock: systemClock,
    holder: () => currentHolder("mcp sign-in"),
    liveness: createLiveness(),
  });
  const addedAndSignIns = { refresh: () => addedServers.refresh().then(() => signIns.check()) };
  followChanges(store, [addedAndSignIns], stopping.signal);
  const models = createModelRegistry({
    config,
    environment: process.env,
    secrets,
    warn: (message) => logger.warn(message),
    served: createServedModels({ signal: stopping.signal }),
  });
  const webSearch = createWebSearch({ config, environment: process.env, secrets });
  const confinement = confinementFor(config);
  const mcp = openMcp({
    servers: config.mcp.value,
    added: addedServers,
    signIns,
    confinement,
    environment: process.env,
    secrets,
    store,
    log: (line) => logger.info(`mcp ${line}`),
  });
  // On SQLite all hosts are on one machine, and share its files where they share a home.
  const cluster =
    store.kind === "postgres" ? openCluster({ config, store, roles, report }) : undefined;
  const auditKey = lazyAuditKey(home);
  const touched = createTouchedSessions();
  const toolset = createToolset(config, store, confinement, cluster?.workspaceHosts);
  const memoryProviders = await openConfiguredMemory(config, toolset.facts);
  if (!memoryProviders.ok) {
    await store.close();
    return memoryProviders;
  }
  const { engine, journals, ...runtime } = await createAgentRuntime({
    config,
    store,
    models,
    memory: memoryProviders.value,
    toolset,
    webSearch,
    report,
    onLost,
    mcp,
    signIns,
    observe(commit, result, ms) {
      metrics.observe(commit, result, ms);
      touched.observe(commit, result);
    },
    placement: cluster?.placementOf(toolset.workspaces),
    // Without the runner role a host only admits messages; a host with the role runs them.
    runs: roles.has("runner") ? "here" : "elsewhere",
  });
  metrics.watchAgents(() => engine.agents.figures());
  const { log, memory, compactor } = engine;

  const client = (): Client => createInProcessClient(httpApp, token, basePath);
  const gateways = await openGateways(config, {
    log,
    memory,
    runner: engine,
    client,
    secrets,
    report,
  });
  if (!gateways.ok) {
    await store.close();
    return gateways;
  }
  const { bot, webhooks, hasConnections } = gateways.value;
  const redact = createRedactor(() => [
    token,
    ...models.keys(),
    ...webSearch.keys(),
    ...mcp.secrets(),
    ...signIns.secrets(),
    ...[
      config.telegramToken,
      config.notifySecret,
      config.secretsKey,
      config.objectStorageSecretKey,
    ].flatMap(({ value }) => value ?? []),
    ...webhooks.secrets(),
  ]);
  const authentication = await openAuthentication({ home, token, store, encrypted });
  const anonymousConnections = createAnonymousConnections();
  const fileUndo = new FileUndo({
    log,
    holder: () => currentHolder("api"),
    snapshots: toolset.snapshots,
    workspaces: toolset.workspaces,
    folder: join(home, "snapshots", "restoring"),
  });
  const apiDeps = {
    ...runtime,
    fileUndo,
    ...authentication,
    engine,
    log,
    memory,
    compactor,
    ...(journals && { journals }),
    bot,
    webhooks,
    mcp,
    addedServers,
    signIns,
    models,
    secrets,
    webSearch,
    toolset,
    facts: toolset.facts,
    newSessionMode: () => config.sessionMode.value,
    pageSettings,
    processes: toolset.processes,
    redact,
    metrics,
    home,
    auditKey,
    basePath,
    ids,
    clock: systemClock,
    holder: () => currentHolder("api"),
    stopping: stopping.signal,
    closing: closing.signal,
    report,
    forward: cluster?.forwarder(toolset),
    workspaceHosts: cluster?.workspaceHosts,
  };
  const api = apiRoutes(apiDeps);
  const protocols = createProtocols({
    ...apiDeps,
    callApi: (url, init) => httpApp.request(url, init, {}),
    mcpApprovals: config.mcpApprovals.value,
    origin: config.origin.value,
  });
  const httpApp: Hono<HostEnv> = createHttpApp({
    ...authentication,
    version,
    page: page ?? [],
    anonymousConnections,
    tokenStrength: tokenStrength(token),
    proxies: config.proxies.value,
    host: config.host.value,
    origin: config.origin.value,
    internalAddress: config.internalAddress.value,
    acceptForwarded: cluster?.acceptForwarded,
    basePath,
    pushRoutes: [
      ...bot.routes,
      ...(roles.has("web")
        ? signInPageRoutes({ signIns, urlOf: (name) => mcp.signInUrl(name), address })
        : []),
    ],
    // Commands typed in a chat go through the same API, in this process.
    api: roles.has("web") || hasConnections() ? api : api.flatMap(servedWithoutPeople),
    protocols: roles.has("web") ? protocols : [],
    health,
    report: (bug, fields) => logger.report(bug, fields),
    logger,
  });
  const { processes } = toolset;
  const workers = await createWorkers({
    config,
    store,
    log,
    runner: engine,
    processes,
    hosts: cluster?.hosts,
    worktrees: toolset.worktrees,
    spendLimits: runtime.spendLimits,
    redact,
    logger,
    report,
  });
  const lifecycle = createLifecycle({
    engine,
    store,
    roles,
    gateways: gateways.value,
    mcp,
    workers: [
      ...workers,
      createModelDiscovery(models, logger),
      createSnapshotKeeper({ fileUndo, snapshots: toolset.snapshots, store, report }),
      createAuditWorker({ log, ids, clock: systemClock, key: auditKey, touched, report }),
    ],
    sandboxTrial: page === undefined ? undefined : warnIfUnconfined(confinement, logger),
    telemetry,
    logger,
    stopping,
    closing,
  });
  const { authenticator } = authentication;
  const app = { httpApp, token, authenticator, anonymousConnections, gateways: gateways.value };
  return done({
    ...app,
    ...lifecycle,
    start(served, local) {
      ownAddress = served?.replace(/\/$/, "") ?? null;
      cluster?.start(local?.replace(/\/$/, "") ?? null);
      lifecycle.start(served);
    },
    async stop(closeServer) {
      cluster?.stop();
      await lifecycle.stop(closeServer);
    },
  });
}

interface StartupChecks {
  readonly token: string;
}

/** What can be refused before the store is opened. */
async function checkStartup(config: Config): Promise<Outcome<StartupChecks>> {
  const home = prepareHome(config.home.value);
  if (!home.ok) return home;
  const token = chooseToken(config);
  if (!token.ok) return token;
  const notify = checkNotifyConfig(config);
  if (!notify.ok) return notify;
  return done({ token: token.value });
}

/** Tries the sandbox out before the first command needs it. */
async function warnIfUnconfined(confinement: Confinement, logger: Logger): Promise<void> {
  const { mode, kind, reason, fix } = await confinement.state();
  if (kind === "none" && mode !== "off")
    logger.warn(`There is no sandbox for commands: ${reason ?? "unknown"}. ${fix ?? ""}`.trim());
}

export interface RunningHost {
  readonly address: string;
  /** Its address on this machine, whatever a proxy calls it. */
  readonly localAddress: string;
  /** Signs a browser in; works once. */
  readonly signInLink: string;
  stop(): Promise<void>;
}

/** Serves the page and the API on the configured address. */
export async function startHost(
  config: Config,
  logger: Logger,
  opening?: OpeningStore,
): Promise<Outcome<RunningHost>> {
  const warning = fileLimitWarning();
  if (warning !== undefined) logger.warn(warning);
  const page = config.roles.value.includes("web") ? loadPage(fileURLToPath(pageFolder)) : done([]);
  if (!page.ok) return closeStoreAndReturn(page, opening);
  const opened = await openApp(config, logger, page.value, opening);
  if (!opened.ok) return opened;
  const { httpApp, authenticator, anonymousConnections, gateways, start, stop } = opened.value;
  const { host, origin, basePath, port } = config;
  const options = { host: host.value, port: port.value, anonymousConnections };
  const listener = await listen(httpApp, options);
  if (!listener.ok) {
    await stop();
    return listener;
  }
  const server = listener.value;
  const ownOrigin = originOf(host.value, server.port);
  const address = `${origin.value ?? ownOrigin}${basePath.value}/`;
  const localAddress = `${ownOrigin}${basePath.value}/`;
  start(address, localAddress);
  if (config.roles.value.includes("gateway")) gateways.start();
  return done({
    address,
    localAddress,
    signInLink: await createSignInLink(address, authenticator, (line) => logger.warn(line)),
    stop: () => stop(() => server.close()),
  });
}
