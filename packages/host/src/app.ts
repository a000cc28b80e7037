import { fileURLToPath } from "node:url";
import type { Config } from "./ops/config/settings.ts";
import { done, type Outcome } from "./util/outcome.ts";
import { isWildcard } from "./server/http/routing.ts";
import { listen } from "./server/http/server.ts";
import { loadPage } from "./server/http/page.ts";
import { openApp } from "./open-host.ts";
import { type OpeningStore, closeStoreAndReturn } from "./open-store.ts";
import { type Logger } from "./ops/telemetry/telemetry-logger.ts";
import { fileLimitWarning } from "./ops/health/process-limits.ts";

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
