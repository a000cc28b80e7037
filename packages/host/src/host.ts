import { fileURLToPath } from "node:url";
import { type Runner, systemClock } from "@holdfast/engine";
import { type Client, ids } from "@holdfast/protocol";
import { currentHolder } from "@holdfast/store/identity";
import type { Hono } from "hono";
import { apiRoutes } from "./api/index.ts";
import {
  createDoorkeeper,
  type Doorkeeper,
  keepPassword,
  keepSignIns,
  keepToken,
} from "./auth/index.ts";
import { type Config, prepareHome, type Role, roleNames } from "./config/index.ts";
import { prepareConversations } from "./conversations.ts";
import { done, failed, type Outcome } from "./failure.ts";
import type { Gateway } from "./gateway/index.ts";
import { openHands } from "./hands.ts";
import { watchHealth } from "./health.ts";
import {
  createApp,
  type HostEnv,
  createStrangers,
  isLoopback,
  isWildcard,
  listen,
  loadPage,
  type Page,
  type Strangers,
} from "./http/index.ts";
import { keepTidy } from "./keep-tidy.ts";
import { openMcp } from "./mcp/index.ts";
import { openConfiguredMemories } from "./memory/index.ts";
import { clientWithin, openConfiguredGateway } from "./open-gateway.ts";
import { openModels } from "./open-model.ts";
import { openStore } from "./open-store.ts";
import { createRedactor } from "./redact.ts";
import {
  createMetrics,
  type Logger,
  objectToOpenFiles,
  openTelemetry,
  reportStore,
} from "./telemetry/index.ts";
import { version } from "./version.ts";

export interface RunningHost {
  readonly address: string;
  /** Where it is reached from this machine, whatever a proxy calls it. */
  readonly localAddress: string;
  /** Signs a browser in; works once. */
  readonly signInLink: string;
  stop(): Promise<void>;
}

const pageFolder = fileURLToPath(new URL("../../web/dist", import.meta.url));
const shortestOpenToken = 16;
/** Those who try tokens of this length have not got anywhere by the end of time. */
const unguessableToken = 32;

/** A run that does not let go in time is taken over by the next host that looks. */
const runnerPatienceMs = 3_000;

/** What is on its way to a chat by then may be marked as unknown by the next host. */
const gatewayPatienceMs = 5_000;

/** What is not committed by then stands in the store for the next host. */
const memoryBudgetMs = 10_000;

/** A host without a port: whoever is in this process asks its app. */
export interface OpenHost {
  readonly app: Hono<HostEnv>;
  readonly token: string;
  readonly doorkeeper: Doorkeeper;
  readonly strangers: Strangers;
  /** Taken up by who serves; a terminal that has a host of its own leaves the chats alone. */
  readonly chats: Gateway | undefined;
  /** Takes up work. Before that nothing of the store is touched. */
  readonly begin: () => void;
  /** Nothing new is taken, the runs are let go of, whoever watches has seen that, and then the store is closed. */
  readonly stop: (closeDoor?: () => Promise<void>) => Promise<void>;
}

/** The composition root: every piece is made here and handed to those that need it. */
export async function openHost(
  config: Config,
  logger: Logger,
  page?: Page,
): Promise<Outcome<OpenHost>> {
  const home = prepareHome(config.home.value);
  if (!home.ok) return home;
  const token = chooseToken(config);
  if (!token.ok) return token;
  const memories = await openConfiguredMemories(config);
  if (!memories.ok) return memories;
  const store = await openStore(config, logger.report);
  if (!store.ok) return store;

  const stopping = new AbortController();
  const closing = new AbortController();
  const report = reportStore(store.value, systemClock, logger, stopping.signal);
  const { models, secrets } = openModels(config, process.env, report);
  const mcp = openMcp({
    servers: config.mcp.value,
    environment: process.env,
    secrets,
    store: store.value,
    say: (line) => logger.info(`mcp ${line}`),
  });
  const hands = openHands(config, store.value);
  const telemetry = await openTelemetry(process.env, report);
  const metrics = createMetrics(telemetry?.tell);
  const talk = await prepareConversations(
    config,
    store.value,
    models,
    memories.value,
    hands,
    report,
    mcp,
    metrics.observe,
  );
  const { log, runner, storing, titles, compactor, memory, reviews, prompt, journals } = talk;
  // Whoever asks without a port asks this process for everything.
  const roles = new Set<Role>(page === undefined ? roleNames : config.roles.value);
  const signIns = keepSignIns(config.home.value, token.value);
  const doorkeeper = createDoorkeeper(token.value, Date.now, signIns);
  const passwords = keepPassword(config.home.value);
  const strangers = createStrangers();
  const redact = createRedactor(() => [
    token.value,
    ...models.keys(),
    ...mcp.secrets,
    ...(config.telegramToken.value === undefined ? [] : [config.telegramToken.value]),
  ]);
  const { host, origin, basePath } = config;
  const client = (): Client => clientWithin(app, token.value, basePath.value);
  const pokes = roles.has("runner") ? runner : leftToOthers(runner);
  const chat = { log, memory, runner: pokes };
  const gateway = await openConfiguredGateway(config, chat, client, report);
  if (!gateway.ok) {
    await store.value.close();
    return gateway;
  }
  const api = apiRoutes({
    gateway: gateway.value,
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
    hooks: gateway.value?.routes ?? [],
    // A chat's commands go through the same API, in this process.
    api: roles.has("web") || gateway.value !== undefined ? api : api.filter(isForWatchers),
    health: watchHealth(store.value, systemClock, stopping.signal, [...roles]),
    report: (bug, fields) => logger.report(bug, fields),
    logger,
  });
  const opened = store.value;
  const chats = gateway.value;

  let hasBegun = false;

  function begin(): void {
    hasBegun = true;
    if (!roles.has("runner")) return;
    // Before the runs that wait: the first of them are given a moment for the servers.
    mcp.start();
    runner.start();
    titles.start();
    memory.start();
    void keepTidy(opened, systemClock, stopping.signal);
  }

  async function letGo(): Promise<void> {
    await within(runnerPatienceMs, Promise.all([runner.stop(), titles.stop(), reviews.stop()]));
    await mcp.stop();
    await memory.drain(memoryBudgetMs);
    await within(runnerPatienceMs, memory.stop());
  }

  async function stop(closeDoor: () => Promise<void> = async () => {}): Promise<void> {
    stopping.abort();
    await within(gatewayPatienceMs, chats?.stop() ?? Promise.resolve());
    if (hasBegun) await letGo();
    closing.abort();
    await closeDoor();
    await opened.close();
    await telemetry?.close();
    await logger.flush();
  }

  return done({ app, token: token.value, doorkeeper, strangers, chats, begin, stop });
}

/** Serves the page and the API on the address that the settings name. */
export async function startHost(config: Config, logger: Logger): Promise<Outcome<RunningHost>> {
  const files = objectToOpenFiles();
  if (files !== undefined) logger.warn(files);
  const page = config.roles.value.includes("web") ? loadPage(pageFolder) : done([]);
  if (!page.ok) return page;
  const opened = await openHost(config, logger, page.value);
  if (!opened.ok) return opened;
  const { app, doorkeeper, strangers, chats, begin, stop } = opened.value;
  const { host, origin, basePath } = config;
  const listener = await listen(app, { host: host.value, port: config.port.value, strangers });
  if (!listener.ok) {
    await stop();
    return listener;
  }
  begin();
  if (config.roles.value.includes("gateway")) chats?.start();
  const server = listener.value;
  const ownOrigin = `http://${nameFor(host.value)}:${server.port}`;
  const address = `${origin.value ?? ownOrigin}${basePath.value}/`;
  return done({
    address,
    localAddress: `${ownOrigin}${basePath.value}/`,
    // Behind the hash it is sent to no server and stands in no log.
    signInLink: `${address}#signin=${doorkeeper.issueCode()}`,
    stop: () => stop(() => server.close()),
  });
}

/** Work is found by whoever runs here or elsewhere; this process only takes it in. */
function leftToOthers(runner: Runner): Pick<Runner, "poke" | "recoverLate"> {
  return { poke: () => undefined, recoverLate: (...read) => runner.recoverLate(...read) };
}

/** Those who watch over a host that serves no people see how it is, and nothing else. */
function isForWatchers({ path }: { readonly path: string }): boolean {
  return path === "/metrics";
}

async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const finished = new AbortController();
  await Promise.race([work, systemClock.sleep(ms, finished.signal)]);
  finished.abort();
}

function chooseToken(config: Config): Outcome<string> {
  const { token, home, host } = config;
  if (token.value === undefined) return keepToken(home.value);
  if (token.value.length < shortestOpenToken && !isLoopback(host.value)) {
    return failed(
      "config.invalid",
      `The token is too short to serve other machines on ${host.value}: give it at least ${shortestOpenToken} characters, or leave HOLDFAST_TOKEN out and have one made.`,
    );
  }
  return done(token.value);
}

function nameFor(host: string): string {
  if (isWildcard(host)) return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}
