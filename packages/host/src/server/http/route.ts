import type { HttpBindings } from "@hono/node-server";
import type { Context, Handler, Hono, MiddlewareHandler } from "hono";
import { getCookie } from "hono/cookie";
import { matchedRoutes } from "hono/route";
import type { Principal } from "../auth/doorkeeper.ts";
import { signInCookieName } from "./cookie.ts";
import type { AccessControl } from "./door.ts";
import { sendProblem } from "./problem.ts";

export interface HostEnv {
  /** The connection itself; absent where a test asks without one. */
  Bindings: Partial<HttpBindings>;
  Variables: { principal: Principal; requestId: string };
}

/** The two ends of the connection that a request came by, where it came by one. */
export function connectionOf(c: Context<HostEnv>): HostEnv["Bindings"] {
  const bindings: HostEnv["Bindings"] | undefined = c.env;
  return bindings ?? {};
}

/**
 * `open` answers anybody; `principal` answers who has signed in or shows the token; `signed` answers who has signed the very
 * request with a secret, which its own handler sees to before it reads anything of it.
 */
export type Policy = "open" | "principal" | "signed";

export interface Route {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly policy: Policy;
  /** In bytes; a megabyte unless told. */
  readonly largestBody?: number;
  readonly handle: (c: Context<HostEnv>) => Response | Promise<Response>;
}

/** What a route has declared about itself. */
export type RouteDeclaration = Required<Pick<Route, "policy" | "largestBody">>;

/** Routes and the middleware around them, with what each of them declared. */
export interface PolicyTable {
  /** `middleware` passes a request on and answers only to refuse it. */
  readonly declared: ReadonlyMap<unknown, RouteDeclaration | "middleware">;
  use(app: Hono<HostEnv>, middleware: MiddlewareHandler<HostEnv>): void;
  mount(app: Hono<HostEnv>, route: Route): void;
}

const defaultMaxBodyBytes = 1024 * 1024;

export function createPolicyTable(): PolicyTable {
  const declared = new Map<unknown, RouteDeclaration | "middleware">();
  return {
    declared,
    use(app, middleware) {
      declared.set(middleware, "middleware");
      app.use("*", middleware);
    },
    mount(app, { method, path, policy, largestBody = defaultMaxBodyBytes, handle }) {
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
export function authenticateRequests(
  table: PolicyTable,
  door: AccessControl,
): MiddlewareHandler<HostEnv> {
  return async function guard(c, next) {
    const policy = policyFor(c, table);
    if (policy === "open" || policy === "signed") return next();
    if (policy === undefined && !isProtected(c.req.path)) return sendProblem(c, "not_found");

    const authorization = c.req.header("authorization");
    const guessing = authorization !== undefined && door.tokenStrength === "guessable";
    const wait = guessing ? door.attempts.take(door.addressOf(c)) : 0;
    if (wait > 0)
      return sendProblem(c, "too_many_requests", { retryAfter: Math.ceil(wait / 1000) });
    // Who shows a token is judged by it alone.
    const signIn = authorization === undefined ? getCookie(c, signInCookieName(c)) : undefined;
    const principal = door.authenticator.authenticate({ authorization, signIn });
    if (principal === undefined) return sendProblem(c, "unauthorized");
    if (guessing) door.attempts.reset(door.addressOf(c));
    const { incoming } = connectionOf(c);
    if (incoming !== undefined) door.anonymousConnections?.markAuthenticated(incoming.socket);
    if (policy === undefined) return sendProblem(c, "not_found");
    c.set("principal", principal);
    return next();
  };
}

/** From the loosest on. */
const policies: readonly Policy[] = ["open", "signed", "principal"];

/** The strictest that was declared; nothing where anything that would handle the request has declared none. */
function policyFor(c: Context, table: PolicyTable): Policy | undefined {
  let strictest = -1;
  for (const { handler } of matchedRoutes(c)) {
    const declared = table.declared.get(handler);
    if (declared === undefined) return undefined;
    if (declared !== "middleware")
      strictest = Math.max(strictest, policies.indexOf(declared.policy));
  }
  return policies[strictest];
}

/** The strictest of those that would handle the request. */
export function declarationFor(c: Context, table: PolicyTable): RouteDeclaration {
  const bounds = matchedDeclarations(c, table).map(
    (each) => each?.largestBody ?? defaultMaxBodyBytes,
  );
  return {
    policy: policyFor(c, table) ?? "open",
    largestBody: bounds.length === 0 ? defaultMaxBodyBytes : Math.min(...bounds),
  };
}

function matchedDeclarations(c: Context, table: PolicyTable): (RouteDeclaration | undefined)[] {
  return matchedRoutes(c)
    .map((route) => table.declared.get(route.handler))
    .filter((each) => each !== "middleware");
}

/** Here even the absence of a route is told to nobody who has not signed in. */
function isProtected(path: string): boolean {
  return /\/(api|v1)(\/|$)/.test(path);
}
