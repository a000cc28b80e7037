import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Client, createClient, type Fetch } from "@holdfast/client";
import { type Config } from "../../ops/config/settings.ts";
import { readConfig } from "../../ops/config/read-config.ts";
import { done, failed, type Outcome } from "../../util/outcome.ts";
import { isLoopback } from "../../util/ip-networks.ts";
import { type Arguments, exit, type Terminal } from "../command.ts";
import { sleep } from "./wait-for-host.ts";
import { findRunningHost } from "./running-hosts.ts";

/** A host that can be spoken to, wherever it is. */
export interface HostConnection {
  readonly client: Client;
  /** `here`: this process is the host, and what it runs is let go of when it ends. */
  readonly location: "here" | "server";
  readonly address: string | undefined;
  readonly config: Config;
  readonly close: () => Promise<void>;
}

export interface ConnectOptions {
  /**
   * What a host in this process does beside answering: `works` takes up runs and all else there is to do; `rests` does not,
   * as a command that is over in a moment would only break off again what it took up.
   */
  readonly localMode: "works" | "rests";
  readonly report?: (bug: Error) => void;
}

/** For a command that is over in a moment. Resolves to its exit code. */
export async function withHost(
  given: Arguments,
  terminal: Terminal,
  act: (reached: HostConnection) => Promise<number>,
): Promise<number> {
  const reached = await connectHost(given, terminal, { localMode: "rests" });
  if (!reached.ok) {
    terminal.printError(reached.failure.message);
    return exit.failed;
  }
  try {
    return await act(reached.value);
  } finally {
    await reached.value.close();
  }
}

/**
 * The host that the settings name, else the one that serves this home, else one in this process: the same host, asked
 * without a port. All commands go through here, so there is one way to everything.
 */
export async function connectHost(
  { flags }: Arguments,
  terminal: Terminal,
  {
    localMode: here,
    report = (bug) => terminal.printError(bug.stack ?? bug.message),
  }: ConnectOptions,
): Promise<Outcome<HostConnection>> {
  const config = readConfig({ ...terminal, flags });
  if (!config.ok) return config;
  const { home, url } = config.value;
  if (url.value !== undefined) return connectToUrl(config.value, url.value);
  const address = await findRunningHost(home.value);
  if (address === undefined) return openLocalHost(config.value, here, report);
  return connectToServing(config.value, address);
}

/** A host that runs already, where there is one that answers in time. None is started. */
export async function connectRunningHost(
  flags: Arguments["flags"],
  terminal: Terminal,
  patienceMs: number,
): Promise<HostConnection | undefined> {
  const config = readConfig({ ...terminal, flags });
  if (!config.ok) return undefined;
  const { home, url } = config.value;
  const address = url.value ?? (await findRunningHost(home.value, patienceMs));
  if (address === undefined) return undefined;
  const reached =
    url.value === undefined
      ? connectToServing(config.value, address)
      : connectToUrl(config.value, url.value);
  return reached.ok ? reached.value : undefined;
}

function connectToUrl(config: Config, url: string): Outcome<HostConnection> {
  const { token, home } = config;
  const isNear = isLoopback(new URL(url).hostname.replace(/^\[|\]$/g, ""));
  // The home's own token is for this machine: it is not shown to another one.
  const shown = token.value ?? (isNear ? storedToken(home.value) : undefined);
  if (shown === undefined) {
    return failed(
      "config.invalid",
      `The host at ${url} wants its token: give it with HOLDFAST_TOKEN or --token.`,
    );
  }
  const client = createClient({ baseUrl: url, token: shown });
  return done({ client, location: "server", address: url, config, close: async () => {} });
}

/** A host that was restarted may be found under another address: it is looked for again when it does not answer. */
function connectToServing(config: Config, found: string): Outcome<HostConnection> {
  const home = config.home.value;
  const token = config.token.value ?? storedToken(home);
  if (token === undefined)
    return failed("home.unusable", `The token in ${join(home, "token")} cannot be read.`);
  let address: string | undefined = found;
  const fetchThere: Fetch = async (path, init) => {
    address ??= await findRunningHost(home);
    if (address === undefined) throw new Error("no host serves this home");
    try {
      return await fetch(address + path.slice(1), init);
    } catch (error) {
      address = undefined;
      throw error;
    }
  };
  const client = createClient({ token, fetch: fetchThere, sleep: localRetrySleep });
  return done({ client, location: "server", address: found, config, close: async () => {} });
}

const maxBackoffMs = 15_000;
const localRetryMs = 500;

/** Backing off spares a host that many ask at once. On one's own machine it only keeps a person waiting. */
function localRetrySleep(ms: number, signal: AbortSignal): Promise<void> {
  return sleep(ms > maxBackoffMs ? ms : Math.min(ms, localRetryMs), signal);
}

async function openLocalHost(
  config: Config,
  here: ConnectOptions["localMode"],
  report: (bug: Error) => void,
): Promise<Outcome<HostConnection>> {
  // Loaded only here: a command that finds a host that serves needs nothing of one.
  const [{ openApp }, { reportOnly }] = await Promise.all([
    import("../../app.ts"),
    import("../../ops/telemetry/logger.ts"),
  ]);
  const opened = await openApp(config, reportOnly(report));
  if (!opened.ok) return opened;
  const { httpApp: app, token, start: begin, stop } = opened.value;
  if (here === "works") begin();
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
