import { Hono } from "hono";
import type { Logger } from "../../ops/telemetry/telemetry-logger.ts";
import { checkAddress } from "./routing.ts";
import { type Door, type DoorParts, openDoor } from "./door.ts";
import { dressAnswers } from "./responses.ts";
import { limitBody } from "./body-limit.ts";
import { isAsset, type Page, pageRoutes } from "./page.ts";
import { refuse } from "./problem.ts";
import { nameRequests } from "./http-app.ts";
import { RouterByMethod } from "./router.ts";
import { createPolicyTable, guardRoutes, type HostEnv, type Route } from "./route.ts";
import { signInRoutes } from "./sign-in.ts";

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

export interface AppParts extends DoorParts {
  readonly version: string;
  readonly page: Page;
  /** The routes of the contract that other folders serve. */
  readonly api: readonly Route[];
  /** What platforms push to, each behind a secret of its own. */
  readonly hooks?: readonly Route[];
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
export function createApp(parts: AppParts): Hono<HostEnv> {
  const app = new Hono<HostEnv>({ router: new RouterByMethod() });
  const table = createPolicyTable();
  const door = openDoor(parts);

  app.notFound((c) => refuse(c, "not_found"));
  app.onError((bug, c) => {
    parts.report(bug, { requestId: c.get("requestId") });
    return refuse(c, "internal");
  });

  table.use(app, nameRequests(parts.logger));
  table.use(app, dressAnswers());
  const assets = new Set(parts.page.filter(isAsset).map(({ name }) => `${parts.basePath}/${name}`));
  table.use(
    app,
    checkAddress(parts, (path) => assets.has(path)),
  );
  table.use(app, guardRoutes(table, door));
  table.use(app, limitBody(table, door));

  for (const route of routesOf(parts, door)) {
    table.mount(app, { ...route, path: parts.basePath + route.path });
  }
  return app;
}

function routesOf(parts: AppParts, door: Door): Route[] {
  const { api, hooks = [], basePath, health, page, version } = parts;
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
