import { randomBytes } from "node:crypto";
import { type MiddlewareHandler, Hono } from "hono";
import type { Logger } from "../../ops/telemetry/logger.ts";
import {
  connectionOf,
  type HostEnv,
  checkHostAndOrigin,
  type AccessControl,
  type AccessControlDeps,
  createAccessControl,
  RouterByMethod,
  createPolicyTable,
  authenticateRequests,
  type Route,
} from "./routing.ts";
import { addSecurityHeaders } from "./responses.ts";
import { limitBodies } from "./body-limit.ts";
import { isAsset, type Page, pageRoutes } from "./page.ts";
import { sendProblem } from "./problem.ts";
import { signInRoutes } from "./sign-in.ts";

/**
 * Gives each request a name, which its answer and what is told about it carry. Nobody else chooses it, and nothing of what was
 * asked but the path is told.
 */
function logRequests(
  logger: Pick<Logger, "debug" | "info" | "error"> | undefined,
): MiddlewareHandler<HostEnv> {
  const boot = randomBytes(6).toString("base64url");
  let count = 0;
  return async function request(c, next) {
    count += 1;
    const requestId = `${boot}-${count.toString(36)}`;
    c.set("requestId", requestId);
    const begun = performance.now();
    await next();
    const { outgoing } = connectionOf(c);
    const isSent = outgoing?.headersSent ?? false;
    if (!isSent) c.header("x-request-id", requestId);
    if (logger === undefined) return;
    const { method, path } = c.req;
    const status = isSent ? (outgoing?.statusCode ?? 0) : c.res.status;
    const how = levelOf(method, status);
    const ms = Math.round(performance.now() - begun);
    logger[how]("request", { requestId, method, path: path.slice(0, 300), status, ms });
  };
}

/** A host that stops, or whose store is away, says so once in a line of its own, and not again for everybody who asks. */
function levelOf(method: string, status: number): "debug" | "info" | "error" {
  if (status >= 500 && status !== 503) return "error";
  return method === "GET" || method === "HEAD" ? "debug" : "info";
}

/** Whether the host can do its work, for whoever watches over it. */
export interface Health {
  readonly status: "ok" | "degraded" | "stopping";
  /** Whether it takes work. That it answers at all is that it lives. */
  readonly ready: boolean;
  /** Why not, in words. */
  readonly reasons: readonly string[];
  readonly roles: readonly string[];
  readonly store: {
    readonly kind: string;
    readonly ready: boolean;
    /** Why it takes no writes, as a stable word: the code that refused writes are answered with. */
    readonly code?: string;
  };
}

export interface HttpAppDeps extends AccessControlDeps {
  readonly version: string;
  readonly page: Page;
  /** The routes of the contract that other folders serve. */
  readonly api: readonly Route[];
  /** What platforms push to, each behind a secret of its own. */
  readonly pushRoutes?: readonly Route[];
  readonly health: () => Promise<Health>;
  readonly host: string;
  readonly origin: string | undefined;
  readonly basePath: string;
  /** Takes what must not happen, with its stack. */
  readonly report: (bug: Error, about?: { readonly requestId: string }) => void;
  /** Takes a line for each request. */
  readonly logger?: Pick<Logger, "debug" | "info" | "error">;
}

/** The whole HTTP surface, without a server: tests ask it with `app.request`. */
export function createHttpApp(parts: HttpAppDeps): Hono<HostEnv> {
  const app = new Hono<HostEnv>({ router: new RouterByMethod() });
  const table = createPolicyTable();
  const door = createAccessControl(parts);

  app.notFound((c) => sendProblem(c, "not_found"));
  app.onError((bug, c) => {
    parts.report(bug, { requestId: c.get("requestId") });
    return sendProblem(c, "internal");
  });

  table.use(app, logRequests(parts.logger));
  table.use(app, addSecurityHeaders());
  const assets = new Set(parts.page.filter(isAsset).map(({ name }) => `${parts.basePath}/${name}`));
  table.use(
    app,
    checkHostAndOrigin(parts, (path) => assets.has(path)),
  );
  table.use(app, authenticateRequests(table, door));
  table.use(app, limitBodies(table, door));

  for (const route of allRoutes(parts, door)) {
    table.mount(app, { ...route, path: parts.basePath + route.path });
  }
  return app;
}

function allRoutes(parts: HttpAppDeps, door: AccessControl): Route[] {
  const { api, pushRoutes: hooks = [], basePath, health, page, version } = parts;
  const routes: Route[] = [
    {
      method: "GET",
      path: "/health",
      policy: "open",
      async handle(c) {
        const { status, store, ...how } = await health();
        // Whoever asks for readiness is a load balancer, and goes by the status.
        const code = c.req.query("ready") !== undefined && !how.ready ? 503 : 200;
        return c.json({ version, status, ...how, store }, code, { "cache-control": "no-store" });
      },
    },
    ...api,
    ...hooks,
    ...signInRoutes(door, parts),
    ...pageRoutes(page),
  ];
  // The page's own links are relative, so its address must end in a slash.
  if (basePath !== "") {
    routes.push({
      method: "GET",
      path: "",
      policy: "open",
      handle: (c) => c.redirect(`${basePath}/`, 308),
    });
  }
  return routes;
}
