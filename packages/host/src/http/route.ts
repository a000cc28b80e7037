import type { HttpBindings } from "@hono/node-server";
import type { Context, Handler, Hono, MiddlewareHandler } from "hono";
import { getCookie } from "hono/cookie";
import { matchedRoutes } from "hono/route";
import type { Doorkeeper, Principal } from "../auth/index.ts";
import { cookieNameFor } from "./cookie.ts";
import { refuse } from "./problem.ts";

export interface HostEnv {
  /** The connection itself; absent where a test asks without one. */
  Bindings: Partial<HttpBindings>;
  Variables: { principal: Principal };
}

/** `open` answers anybody; `principal` answers who has signed in or shows the token. */
export type Policy = "open" | "principal";

export interface Route {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly policy: Policy;
  /** In bytes; a megabyte unless told. */
  readonly largestBody?: number;
  readonly handle: (c: Context<HostEnv>) => Response | Promise<Response>;
}

/** What a route has declared about itself. */
type Declared = Required<Pick<Route, "policy" | "largestBody">>;

/** Routes and the middleware around them, with what each of them declared. */
export interface PolicyTable {
  /** `middleware` passes a request on and answers only to refuse it. */
  readonly declared: ReadonlyMap<unknown, Declared | "middleware">;
  use(app: Hono<HostEnv>, middleware: MiddlewareHandler<HostEnv>): void;
  mount(app: Hono<HostEnv>, route: Route): void;
}

const usualBody = 1024 * 1024;

export function createPolicyTable(): PolicyTable {
  const declared = new Map<unknown, Declared | "middleware">();
  return {
    declared,
    use(app, middleware) {
      declared.set(middleware, "middleware");
      app.use("*", middleware);
    },
    mount(app, { method, path, policy, largestBody = usualBody, handle }) {
      // One function per route, so that a handler shared by two keeps both policies apart.
      const handler: Handler<HostEnv> = (c) => handle(c);
      declared.set(handler, { policy, largestBody });
      app.on(method, path, handler);
    },
  };
}

/**
 * Denies by default: a request passes only when everything that would handle it has declared a
 * policy. A route that has not is, from outside, not there.
 */
export function guardRoutes(
  table: PolicyTable,
  doorkeeper: Doorkeeper,
): MiddlewareHandler<HostEnv> {
  return async function guard(c, next) {
    const policy = policyFor(c, table);
    if (policy === "open") return next();
    if (policy === undefined && !isProtected(c.req.path)) return refuse(c, "not_found");

    const principal = doorkeeper.recognise({
      authorization: c.req.header("authorization"),
      signIn: getCookie(c, cookieNameFor(c)),
    });
    if (principal === undefined) return refuse(c, "unauthorized");
    if (policy === undefined) return refuse(c, "not_found");
    c.set("principal", principal);
    return next();
  };
}

function policyFor(c: Context, table: PolicyTable): Policy | undefined {
  const declared = declaredFor(c, table);
  if (declared.length === 0 || declared.includes(undefined)) return undefined;
  return declared.every((each) => each?.policy === "open") ? "open" : "principal";
}

/** The strictest of those that would handle the request. */
export function largestBodyFor(c: Context, table: PolicyTable): number {
  const bounds = declaredFor(c, table).map((each) => each?.largestBody ?? usualBody);
  return bounds.length === 0 ? usualBody : Math.min(...bounds);
}

function declaredFor(c: Context, table: PolicyTable): (Declared | undefined)[] {
  return matchedRoutes(c)
    .map((route) => table.declared.get(route.handler))
    .filter((each) => each !== "middleware");
}

/** Here even the absence of a route is told to nobody who has not signed in. */
function isProtected(path: string): boolean {
  return /\/(api|v1)(\/|$)/.test(path);
}
