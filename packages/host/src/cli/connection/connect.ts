import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Client, createClient, type Fetch } from "@holdfast/client";
import { sleep } from "@holdfast/protocol";
import { type Config } from "../../ops/config/settings.ts";
import { readConfig } from "../../ops/config/read-config.ts";
import { done, failed, type Outcome } from "../../util/outcome.ts";
import { isLoopback } from "../../util/ip-networks.ts";
import { type Arguments, exit, type Terminal } from "../command.ts";
import { findRunningHost } from "./running-hosts.ts";

/** A connection to a host, in this process or elsewhere. */
export interface HostConnection {
  readonly client: Client;
  /** `here`: this process is the host, and its runs stop with it. */
  readonly location: "here" | "server";
  readonly address: string | undefined;
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
    return failed(
      "config.invalid",
      `The host at ${url} wants its token: give it with HOLDFAST_TOKEN or --token.`,
    );
  }
  const client = createClient({ baseUrl: url, token: sentToken });
  return done({ client, location: "server", address: url, config, close: async () => {} });
}

/** A restarted host may have another address, so it is looked up again when it does not answer. */
function connectToServing(config: Config, foundAddress: string): Outcome<HostConnection> {
  const home = config.home.value;
  const token = config.token.value ?? storedToken(home);
  if (token === undefined)
    return failed("home.unusable", `The token in ${join(home, "token")} cannot be read.`);
  let address: string | undefined = foundAddress;
  const fetchFromHost: Fetch = async (path, init) => {
    address ??= await findRunningHost(home);
    if (address === undefined) throw new Error("no host serves this home");
    try {
      return await fetch(address + path.slice(1), init);
    } catch (error) {
      address = undefined;
      throw error;
    }
  };
  const client = createClient({ token, fetch: fetchFromHost, sleep: localRetrySleep });
  return done({ client, location: "server", address: foundAddress, config, close: async () => {} });
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
  const client = createClient({
    token,
    baseUrl: config.basePath.value,
    fetch: (path, init) => app.request(path, init, {}),
  });
  return done({ client, location: "here", address: undefined, config, close: () => stop() });
}

function storedToken(home: string): string | undefined {
  try {
    return readFileSync(join(home, "token"), "utf8").trim() || undefined;
  } catch {
    return undefined;
  }
}
