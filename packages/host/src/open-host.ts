import { type Runner, systemClock } from "@holdfast/engine";
import { type Client } from "@holdfast/client";
import { ids, ownerId } from "@holdfast/protocol";
import { currentHolder } from "@holdfast/store/identity";
import type { Hono } from "hono";
import { apiRoutes } from "./server/api/routes.ts";
import { createDoorkeeper, type Doorkeeper } from "./server/auth/doorkeeper.ts";
import { keepPassword } from "./server/auth/password.ts";
import { keepSignIns } from "./server/auth/sign-in-file.ts";
import { chooseToken, unguessableToken } from "./server/auth/choose-token.ts";
import { type Config } from "./ops/config/settings.ts";
import { prepareHome } from "./ops/config/home.ts";
import { type Role, roleNames } from "./ops/config/operation-settings.ts";
import { prepareConversations } from "./agent/conversations.ts";
import { createChildKeeper } from "./automation/delegate/orphan-reaper.ts";
import { done, type Outcome } from "./util/outcome.ts";
import { openHands } from "./agent/hands.ts";
import { watchHealth } from "./ops/health/health.ts";
import { createApp } from "./server/http/app.ts";
import { createStrangers, type Strangers } from "./server/http/anonymous-clients.ts";
import { type HostEnv } from "./server/http/route.ts";
import { type Page } from "./server/http/page.ts";
import { createLife, type Life } from "./life.ts";
import { openMcp } from "./agent/mcp/index.ts";
import { openConfiguredMemories } from "./agent/memory/providers.ts";
import { type Chats, openChats } from "./gateway/gateways.ts";
import { clientWithin } from "./gateway/bot-connection.ts";
import { checkNotifying, openConfiguredNotifier } from "./automation/notify/open-notifier.ts";
import { openModels } from "./agent/models/open-model.ts";
import { openScheduler } from "./automation/schedules/open-scheduler.ts";
import { createProcessWatch } from "./automation/processes/process-watcher.ts";
import { type BegunStore, leaveStore, openStore } from "./open-store.ts";
import { createRedactor } from "./ops/secrets/redact.ts";
import { createMetrics } from "./ops/telemetry/telemetry-metrics.ts";
import { type Logger } from "./ops/telemetry/telemetry-logger.ts";
import { openTelemetry } from "./ops/telemetry/open-telemetry.ts";
import { reportStore } from "./ops/health/store-watch.ts";
import { version } from "./util/version.ts";
import { watchWrites } from "./ops/health/write-watch.ts";

/** A host without a port: whoever is in this process asks its app. */
export interface OpenHost extends Life {
  readonly app: Hono<HostEnv>;
  readonly token: string;
  readonly doorkeeper: Doorkeeper;
  readonly strangers: Strangers;
  /** Taken up by who serves; a terminal that has a host of its own leaves the chats alone. */
  readonly chats: Pick<Chats, "start" | "stop">;
}

/** The composition root: every piece is made here and handed to those that need it. */
export async function openHost(
  config: Config,
  logger: Logger,
  page?: Page,
  begun?: BegunStore,
): Promise<Outcome<OpenHost>> {
  const home = prepareHome(config.home.value);
  if (!home.ok) return leaveStore(home, begun);
  const token = chooseToken(config);
  if (!token.ok) return leaveStore(token, begun);
  const notifying = checkNotifying(config);
  if (!notifying.ok) return leaveStore(notifying, begun);
  const memories = await openConfiguredMemories(config);
  if (!memories.ok) return leaveStore(memories, begun);
  const opened = await (begun ?? openStore(config, logger.report));
  if (!opened.ok) return opened;

  const stopping = new AbortController();
  const closing = new AbortController();
  const report = reportStore({
    isWell: async () => (await health()).store.ready,
    clock: systemClock,
    logger,
    stopping: stopping.signal,
  });
  const writes = watchWrites(opened.value, { clock: systemClock, onTrouble: report });
  const { store } = writes;
  const { models, secrets } = openModels(config, process.env, report);
  const mcp = openMcp({
    servers: config.mcp.value,
    environment: process.env,
    secrets,
    store: store,
    say: (line) => logger.info(`mcp ${line}`),
  });
  const hands = openHands(config, store);
  const telemetry = await openTelemetry(process.env, report);
  const metrics = createMetrics(telemetry?.tell);
  const talk = await prepareConversations(
    config,
    store,
    models,
    memories.value,
    hands,
    report,
    mcp,
    metrics.observe,
  );
  const { log, runner, storing, titles, compactor, memory, reviews, prompt, journals } = talk;
  metrics.watchAgents(() => talk.agents.figures());
  // Whoever asks without a port asks this process for everything.
  const roles = new Set<Role>(page === undefined ? roleNames : config.roles.value);
  const health = watchHealth({
    store,
    writes,
    clock: systemClock,
    stopping: stopping.signal,
    roles: [...roles],
  });
  const signIns = keepSignIns(config.home.value, token.value);
  const doorkeeper = createDoorkeeper(token.value, Date.now, signIns);
  const passwords = keepPassword(config.home.value);
  const strangers = createStrangers();
  const redact = createRedactor(() => [
    token.value,
    ...models.keys(),
    ...mcp.secrets,
    ...[config.telegramToken, config.notifySecret].flatMap(({ value }) => value ?? []),
    ...(chats.ok ? chats.value.webhooks.secrets() : []),
  ]);
  const { host, origin, basePath } = config;
  const client = (): Client => clientWithin(app, token.value, basePath.value);
  const pokes = roles.has("runner") ? runner : leftToOthers(runner);
  const chats = await openChats(config, { log, memory, runner: pokes, client, secrets, report });
  if (!chats.ok) {
    await store.close();
    return chats;
  }
  const { bot, webhooks, isAnybodyThere } = chats.value;
  const api = apiRoutes({
    bot,
    webhooks,
    log,
    hands,
    ids,
    runner: pokes,
    storing,
    compactor,
    memory,
    reviews,
    prompt,
    ...(journals && { journals }),
    mcp,
    processes: hands.processes,
    models,
    secrets,
    doorkeeper,
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
  const app: Hono<HostEnv> = createApp({
    version,
    page: page ?? [],
    doorkeeper,
    passwords,
    strangers,
    token: token.value.length < unguessableToken ? "guessable" : "strong",
    proxies: config.proxies.value,
    host: host.value,
    origin: origin.value,
    basePath: basePath.value,
    hooks: bot.routes,
    // A chat's commands go through the same API, in this process.
    api: roles.has("web") || isAnybodyThere() ? api : api.filter(isForWatchers),
    health,
    report: (bug, fields) => logger.report(bug, fields),
    logger,
  });
  const owner = ownerId.parse("owner");
  const life = createLife({
    store: store,
    roles,
    chats: chats.value,
    mcp,
    runner,
    titles,
    memory,
    reviews,
    telemetry,
    scheduler: openScheduler(log, runner, report),
    children: createChildKeeper({ log, ids, clock: systemClock, owner, runner, report }),
    processes: createProcessWatch({
      log,
      ids,
      clock: systemClock,
      owner,
      desk: hands.processes,
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
  return done({ app, token: token.value, doorkeeper, strangers, chats: chats.value, ...life });
}

/** Work is found by whoever runs here or elsewhere; this process only takes it in. */
function leftToOthers(runner: Runner): Pick<Runner, "poke" | "recoverLate"> {
  return { poke: () => undefined, recoverLate: (...read) => runner.recoverLate(...read) };
}

/** Those who watch over a host that serves no people see how it is, and nothing else. */
function isForWatchers({ path }: { readonly path: string }): boolean {
  return path === "/metrics";
}
