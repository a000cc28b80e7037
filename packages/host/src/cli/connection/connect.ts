import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Client, createClient, type Fetch } from "@holdfast/client";
import { sleep } from "@holdfast/protocol";
import { type Config } from "../../ops/config/settings.ts";
import { readConfig } from "../../ops/config/read-config.ts";
import { done, failed, type Outcome } from "../../util/outcome.ts";
import { isLoopback } from "../../util/ip-networks.ts";
import { type Arguments, exit, type Terminal } from "../command.ts";
import { connectionStrings } from "../strings/connection.ts";
import { findRunningHost, hasDiedHost } from "./running-hosts.ts";
import { findOrStartHost } from "./start-host.ts";

/** A connection to a host, in this process or elsewhere. */
export interface HostConnection {
  readonly client: Client;
  /** Sends a request to a path of the host, with the credentials of `client`. */
  readonly request: Fetch;
  /** `here`: this process is the host, and its runs stop with it. */
  readonly location: "here" | "server";
  readonly address: string | undefined;
  /** Whether the host works with the files of this machine. */
  readonly isLocal: boolean;
  readonly config: Config;
  readonly close: () => Promise<void>;
}

export interface ConnectOptions {
  /**
   * What a host in this process does besides answering. `works` also takes up runs and background work; `rests`
   * does not, because a short-lived command would only interrupt what it started.
   */
  readonly localMode: "works" | "rests";
  readonly report?: (bug: Error) => void;
}

/** For short-lived commands. Resolves to the exit code. */
export async function withHost(
  given: Arguments,
  terminal: Terminal,
  action: (connection: HostConnection) => Promise<number>,
): Promise<number> {
  const connection = await connectHost(given, terminal, { localMode: "rests" });
  if (!connection.ok) {
    terminal.printError(connection.failure.message);
    return exit.failed;
  }
  try {
    return await action(connection.value);
  } finally {
    await connection.value.close();
  }
}

/**
 * Connects to the host that the settings name, else to the one serving this home, else opens one in this process
 * without a port. All commands use this.
 */
export async function connectHost(
  { flags }: Arguments,
  terminal: Terminal,
  { localMode, report = (bug) => terminal.printError(bug.stack ?? bug.message) }: ConnectOptions,
): Promise<Outcome<HostConnection>> {
  const config = readConfig({ ...terminal, flags });
  if (!config.ok) return config;
  const { home, url } = config.value;
  if (url.value !== undefined) return connectToUrl(config.value, url.value);
  const address = await findRunningHost(home.value);
  if (address === undefined) return openLocalHost(config.value, localMode, report);
  return connectToServing(config.value, address);
}

/** A host that is already running and answers in time. Never starts one. */
export async function connectRunningHost(
  flags: Arguments["flags"],
  terminal: Terminal,
  timeoutMs: number,
): Promise<HostConnection | undefined> {
  const config = readConfig({ ...terminal, flags });
  if (!config.ok) return undefined;
  const { home, url } = config.value;
  const address = url.value ?? (await findRunningHost(home.value, timeoutMs));
  if (address === undefined) return undefined;
  const connection =
    url.value === undefined
      ? connectToServing(config.value, address)
      : connectToUrl(config.value, url.value);
  return connection.ok ? connection.value : undefined;
}

function connectToUrl(config: Config, url: string): Outcome<HostConnection> {
  const { token, home } = config;
  const isLocal = isLoopback(new URL(url).hostname.replace(/^\[|\]$/g, ""));
  // The home's token is for this machine only: never send it to another one.
  const sentToken = token.value ?? (isLocal ? storedToken(home.value) : undefined);
  if (sentToken === undefined) {
    return failed("config.invalid", connectionStrings.tokenMissing(url));
  }
  const client = createClient({ baseUrl: url, token: sentToken });
  const request = withToken(sentToken, (path, init) => fetch(url.replace(/\/+$/, "") + path, init));
  const where = { location: "server", address: url, isLocal } as const;
  return done({ client, request, ...where, config, close: async () => {} });
}

/** A connection to a host that is never in this process. */
export interface ServerConnection extends HostConnection {
  /** Starts a host if none serves this home. To be called when a person wants something of it. */
  readonly ensureHost: () => Promise<Outcome<void>>;
}

/** Connects to the host that the settings name, else to the one serving this home, else to one that is started for it. */
export async function connectOrStartHost(
  given: Arguments,
  terminal: Terminal,
): Promise<Outcome<ServerConnection>> {
  const config = readConfig({ ...terminal, flags: given.flags });
  if (!config.ok) return config;
  const { home, url } = config.value;
  if (url.value !== undefined) {
    const connection = connectToUrl(config.value, url.value);
    if (!connection.ok) return connection;
    return done({ ...connection.value, ensureHost: async () => done(undefined) });
  }
  const settled = config.value;
  let isOurs = false;
  async function findOrStart(): Promise<Outcome<string>> {
    const found = await findOrStartHost(settled, given, terminal);
    if (!found.ok) return found;
    isOurs ||= found.value.by === "us";
    return done(found.value.address);
  }
  /** A host that somebody stopped stays stopped; one that we started and that died is started again. */
  async function find(): Promise<string | undefined> {
    const running = await findRunningHost(home.value);
    if (running !== undefined || !isOurs || !hasDiedHost(home.value)) return running;
    const started = await findOrStart();
    return started.ok ? started.value : undefined;
  }
  const first = await findOrStart();
  if (!first.ok) return first;
  const connection = connectToServing(config.value, first.value, find);
  if (!connection.ok) return connection;
  return done({
    ...connection.value,
    async ensureHost() {
      const found = await findOrStart();
      return found.ok ? done(undefined) : found;
    },
  });
}

/** A restarted host may have another address, so it is looked up again when it does not answer. */
function connectToServing(
  config: Config,
  foundAddress: string,
  find = () => findRunningHost(config.home.value),
): Outcome<HostConnection> {
  const home = config.home.value;
  const token = config.token.value ?? storedToken(home);
  if (token === undefined)
    return failed("home.unusable", connectionStrings.tokenUnreadable(join(home, "token")));
  let address: string | undefined = foundAddress;
  const fetchFromHost: Fetch = async (path, init) => {
    address ??= await find();
    if (address === undefined) throw new Error(connectionStrings.noHost);
    try {
      return await fetch(address + path.slice(1), init);
    } catch (error) {
      address = undefined;
      throw error;
    }
  };
  const client = createClient({ token, fetch: fetchFromHost, sleep: localRetrySleep });
  const request = withToken(token, fetchFromHost);
  const where = { location: "server", address: foundAddress, isLocal: true } as const;
  return done({ client, request, ...where, config, close: async () => {} });
}

const maxBackoffMs = 15_000;
const localRetryMs = 500;

/** Backing off protects a host with many clients. On the same machine it only makes a person wait. */
function localRetrySleep(ms: number, signal: AbortSignal): Promise<void> {
  return sleep(ms > maxBackoffMs ? ms : Math.min(ms, localRetryMs), signal);
}

async function openLocalHost(
  config: Config,
  localMode: ConnectOptions["localMode"],
  report: (bug: Error) => void,
): Promise<Outcome<HostConnection>> {
  // Loaded on demand: a command that finds a running host needs none of it.
  const [{ openApp }, { reportOnly }] = await Promise.all([
    import("../../app.ts"),
    import("../../ops/telemetry/logger.ts"),
  ]);
  const opened = await openApp(config, reportOnly(report));
  if (!opened.ok) return opened;
  const { httpApp: app, token, start, stop } = opened.value;
  if (localMode === "works") start();
  const basePath = config.basePath.value;
  const client = createClient({
    token,
    baseUrl: basePath,
    fetch: (path, init) => app.request(path, init, {}),
  });
  const request = withToken(token, (path, init) => app.request(basePath + path, init, {}));
  const where = { location: "here", address: undefined, isLocal: true } as const;
  return done({ client, request, ...where, config, close: () => stop() });
}

function withToken(token: string, send: Fetch): Fetch {
  return (path, init) => {
    const headers = new Headers(init.headers);
    headers.set("authorization", `Bearer ${token}`);
    return send(path, { ...init, headers });
  };
}

function storedToken(home: string): string | undefined {
  try {
    return readFileSync(join(home, "token"), "utf8").trim() || undefined;
  } catch {
    return undefined;
  }
}
