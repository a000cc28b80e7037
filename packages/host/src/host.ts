import { fileURLToPath } from "node:url";
import { createDoorkeeper, keepToken } from "./auth/index.ts";
import { type Config, prepareHome } from "./config/index.ts";
import { done, failed, type Outcome } from "./failure.ts";
import { createApp, isLoopback, isWildcard, listen, loadPage } from "./http/index.ts";
import { version } from "./version.ts";

export interface RunningHost {
  readonly address: string;
  /** Signs a browser in; works once. */
  readonly signInLink: string;
  stop(): Promise<void>;
}

const pageFolder = fileURLToPath(new URL("../../web/dist", import.meta.url));
const shortestOpenToken = 16;

/** The composition root: every piece is made here and handed to those that need it. */
export async function startHost(
  config: Config,
  report: (bug: Error) => void,
): Promise<Outcome<RunningHost>> {
  const home = prepareHome(config.home.value);
  if (!home.ok) return home;
  const token = chooseToken(config);
  if (!token.ok) return token;
  const page = loadPage(pageFolder);
  if (!page.ok) return page;

  const doorkeeper = createDoorkeeper(token.value);
  const { host, origin, basePath } = config;
  const app = createApp({
    version,
    page: page.value,
    doorkeeper,
    host: host.value,
    origin: origin.value,
    basePath: basePath.value,
    report,
  });
  const listener = await listen(app, { host: host.value, port: config.port.value });
  if (!listener.ok) return listener;

  const ownOrigin = origin.value ?? `http://${nameFor(host.value)}:${listener.value.port}`;
  const address = `${ownOrigin}${basePath.value}/`;
  return done({
    address,
    // Behind the hash it is sent to no server and stands in no log.
    signInLink: `${address}#signin=${doorkeeper.issueCode()}`,
    stop: () => listener.value.close(),
  });
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
