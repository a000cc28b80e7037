import { isIP } from "node:net";
import type { HonoRequest, MiddlewareHandler, Context, Handler, Hono } from "hono";
import type { HttpBindings } from "@hono/node-server";
import { getCookie } from "hono/cookie";
import { matchedRoutes } from "hono/route";
import type { Result, Router } from "hono/router";
import { RegExpRouter } from "hono/router/reg-exp-router";
import { SmartRouter } from "hono/router/smart-router";
import { TrieRouter } from "hono/router/trie-router";
import { isLoopback, isInNetworks, parseNetworks } from "../../util/ip-networks.ts";
import { sendProblem } from "./problem.ts";
import { type AttemptThrottle, createAttemptThrottle } from "../auth/attempt-throttle.ts";
import { type Authenticator, type Principal } from "../auth/authenticator.ts";
import { type PasswordFile } from "../auth/password.ts";
import {
  type AnonymousConnections,
  createBodyBudget,
  type BodyBudget,
} from "./anonymous-clients.ts";

export interface ServerAddress {
  /** What the host listens on: a name or an address. */
  readonly host: string;
  /** What people type, where a reverse proxy gives it another address. */
  readonly origin: string | undefined;
}

/** The host and port that the client believes to talk to. */
function requestHost(request: HonoRequest): string {
  return request.header("host") ?? new URL(request.url).host;
}

/**
 * Refuses host names that are not ours, as another site's name that was pointed at this machine
 * (DNS rebinding) is not, and requests that a page of another site makes. A document without an origin, as the page's own
 * frame is, gets what is the same for everybody and nothing else.
 */
export function checkHostAndOrigin(
  own: ServerAddress,
  isForEverybody: (path: string) => boolean,
): MiddlewareHandler {
  const judge = memoize((host) => {
    const url = URL.parse(`http://${host}`);
    return url !== null && isOwnHostname(url.hostname, own) ? url.origin : undefined;
  });
  return async function address(c, next) {
    const ours = judge(requestHost(c.req));
    if (ours === undefined)
      return sendProblem(c, "forbidden", { detail: "Holdfast does not answer to this host name." });
    const origin = c.req.header("origin");
    if (origin === "null" && c.req.method === "GET" && isForEverybody(c.req.path)) return next();
    if (origin !== undefined && origin !== ours && origin !== own.origin) {
      return sendProblem(c, "forbidden", { detail: "The request comes from another site." });
    }
    return next();
  };
}

/** People come by few names, again and again. Strangers may make up many, and long ones: those are judged anew. */
function memoize<T>(judge: (name: string) => T): (name: string) => T {
  const known = new Map<string, T>();
  return (name) => {
    if (known.has(name)) return known.get(name) as T;
    const verdict = judge(name);
    if (known.size < maxNames && name.length < longestName) known.set(name, verdict);
    return verdict;
  };
}

const maxNames = 100;
const longestName = 300;

function isOwnHostname(hostname: string, own: ServerAddress): boolean {
  const bare = hostname.replace(/^\[|\]$/g, "");
  if (isLoopback(bare) || bare === own.host.toLowerCase()) return true;
  if (own.origin !== undefined && hostname === URL.parse(own.origin)?.hostname) return true;
  // A plain address cannot be rebound, and who serves on all of them does not know which are his.
  return isWildcard(own.host) && isIP(bare) !== 0;
}

export function isWildcard(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}

/**
 * Browsers share cookies between the ports of one host name. The port in the name keeps two hosts
 * on one machine from signing each other out.
 */
export function signInCookieName(c: Context): string {
  const port = requestHost(c.req).split(":").at(-1);
  return /^\d+$/.test(port ?? "") ? `holdfast_${port}` : "holdfast";
}

/** Where a request comes from, as far as it can be believed. */
export type ClientAddress = (c: Context<HostEnv>) => string;

/**
 * The other end of the connection. What a header says counts only where that end is a proxy which the operator has named,
 * and then only its last stranger: everything before it was written by whoever asks.
 */
function readClientAddress(proxies: readonly string[]): ClientAddress {
  const named = parseNetworks(proxies);
  return (c) => {
    const peer = unmapIpv4(connectionOf(c).incoming?.socket.remoteAddress ?? "unknown");
    if (proxies.length === 0) return peer;
    if (!isInNetworks(named, peer)) return peer;
    const hops = (c.req.header("x-forwarded-for") ?? "")
      .split(",")
      .map((hop) => unmapIpv4(hop.trim()));
    return hops.findLast((hop) => isIP(hop) !== 0 && !isInNetworks(named, hop)) ?? peer;
  };
}

/** An IPv4 address is the same one when it comes in IPv6 clothes. */
function unmapIpv4(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, "");
}

export interface AccessControlDeps {
  readonly authenticator: Authenticator;
  readonly passwords?: PasswordFile;
  /** `guessable`: a person chose a short one. Trying many against a long one leads nowhere, and slows nobody down. */
  readonly tokenStrength?: "strong" | "guessable";
  readonly attempts?: AttemptThrottle;
  readonly anonymousConnections?: AnonymousConnections;
  readonly bodyBudget?: BodyBudget;
  /** Addresses whose word about who asks is believed. */
  readonly proxies?: readonly string[];
}

/** Everything that decides who comes in, and how often they may try. */
export interface AccessControl {
  readonly authenticator: Authenticator;
  readonly passwords: PasswordFile | undefined;
  readonly tokenStrength: "strong" | "guessable";
  readonly attempts: AttemptThrottle;
  readonly anonymousConnections: AnonymousConnections | undefined;
  readonly bodyBudget: BodyBudget;
  readonly addressOf: ClientAddress;
}

export function createAccessControl(parts: AccessControlDeps): AccessControl {
  return {
    authenticator: parts.authenticator,
    passwords: parts.passwords,
    tokenStrength: parts.tokenStrength ?? "strong",
    attempts: parts.attempts ?? createAttemptThrottle(),
    anonymousConnections: parts.anonymousConnections,
    bodyBudget: parts.bodyBudget ?? createBodyBudget(),
    addressOf: readClientAddress(parts.proxies ?? []),
  };
}

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

/**
 * The quick router gives all of its paths up to the thorough one as soon as it cannot tell two of them apart, as it cannot
 * with `/api/secrets/:provider` and `/api/secrets/mcp/:name`. Each method has a router of its own, so that those two, which
 * are put and deleted, cost nothing to who reads.
 */
export class RouterByMethod<T> implements Router<T> {
  readonly name = "RouterByMethod";
  readonly #added: [method: string, path: string, handler: T][] = [];
  readonly #routers = new Map<string, Router<T>>();

  add(method: string, path: string, handler: T): void {
    this.#added.push([method, path, handler]);
    this.#routers.clear();
  }

  match(method: string, path: string): Result<T> {
    const router = this.#routers.get(method) ?? this.#routerFor(method);
    return router.match(method, path);
  }

  #routerFor(method: string): Router<T> {
    const router = new SmartRouter<T>({ routers: [new RegExpRouter(), new TrieRouter()] });
    for (const [of, path, handler] of this.#added)
      if (of === method || of === "ALL") router.add(of, path, handler);
    this.#routers.set(method, router);
    return router;
  }
}
