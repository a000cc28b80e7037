import { isIP } from "node:net";
import { StoreFailure } from "@holdfast/engine";
import { pageKeyHeader } from "@holdfast/protocol";
import type { HonoRequest, MiddlewareHandler, Context, Handler, Hono } from "hono";
import type { HttpBindings } from "@hono/node-server";
import { getCookie } from "hono/cookie";
import { matchedRoutes } from "hono/route";
import {
  canonicalAddress,
  isLoopback,
  isInNetworks,
  parseNetworks,
} from "../../util/ip-networks.ts";
import { sendProblem } from "./problem.ts";
import type { EncodeProblem } from "./protocol.ts";
import {
  type AttemptThrottle,
  createAttemptThrottle,
  createSlowLane,
  type SlowLane,
} from "../auth/attempt-throttle.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import type { AcceptForwarded } from "../../hosts/accept-forwarded.ts";
import type { Principal } from "../auth/principal.ts";
import { type Passwords } from "../auth/password.ts";
import type { SignInThrottle } from "../auth/shared-throttle.ts";
import {
  type AnonymousConnections,
  createBodyBudget,
  type BodyBudget,
} from "./anonymous-clients.ts";

export interface ServerAddress {
  /** The host name or address the server listens on. */
  readonly host: string;
  /** The public origin if a reverse proxy serves it. */
  readonly origin: string | undefined;
  /** Where other hosts reach it. */
  readonly internalAddress?: string | undefined;
}

/** The host and port that the client used. */
function requestHost(request: HonoRequest): string {
  return request.header("host") ?? new URL(request.url).host;
}

/**
 * Refuses foreign host names, which may have been pointed at this machine (DNS rebinding), and requests made by other
 * sites. A document without an origin, like the page's own frame, gets public files and nothing else.
 */
export function checkHostAndOrigin(
  server: ServerAddress,
  isPublic: (path: string) => boolean,
): (c: Context) => Response | undefined {
  const originOfHost = memoize((host) => {
    const url = URL.parse(`http://${host}`);
    return url !== null && isOwnHostname(url.hostname, server) ? url.origin : undefined;
  });
  return function address(c) {
    const ownOrigin = originOfHost(requestHost(c.req));
    if (ownOrigin === undefined)
      return sendProblem(c, "forbidden", { detail: "Holdfast does not answer to this host name." });
    const origin = c.req.header("origin");
    if (origin === "null" && c.req.method === "GET" && isPublic(c.req.path)) return undefined;
    if (origin !== undefined && origin !== ownOrigin && origin !== server.origin) {
      return sendProblem(c, "forbidden", { detail: "The request comes from another site." });
    }
    return undefined;
  };
}

/** People use few host names again and again. Anonymous clients may make up many long ones, which are not cached. */
function memoize<T>(find: (name: string) => T): (name: string) => T {
  const known = new Map<string, T>();
  return (name) => {
    if (known.has(name)) return known.get(name) as T;
    const result = find(name);
    if (known.size < maxNames && name.length < maxNameLength) known.set(name, result);
    return result;
  };
}

const maxNames = 100;
const maxNameLength = 300;

function isOwnHostname(hostname: string, server: ServerAddress): boolean {
  const bare = hostname.replace(/^\[|\]$/g, "");
  if (isLoopback(bare) || bare === server.host.toLowerCase()) return true;
  const named = [server.origin, server.internalAddress].flatMap((address) => address ?? []);
  if (named.some((address) => hostname === URL.parse(address)?.hostname)) return true;
  // An IP address cannot be rebound, and a wildcard listener does not know its own addresses.
  return isWildcard(server.host) && isIP(bare) !== 0;
}

function isWildcard(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}

/** Where a host on this machine can be reached. */
export function originOf(host: string, port: number): string {
  if (isWildcard(host)) return `http://127.0.0.1:${port}`;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/**
 * Browsers share cookies between the ports of a host name. The port in the cookie's name keeps two hosts on one machine
 * from signing each other out.
 */
export function signInCookieName(c: Context): string {
  const port = requestHost(c.req).split(":").at(-1);
  return /^\d+$/.test(port ?? "") ? `holdfast_${port}` : "holdfast";
}

/** The client's address, as far as it can be trusted. */
export type ClientAddress = (c: Context<HostEnv>) => string;

/**
 * The peer of the connection. X-Forwarded-For counts only if the peer is a configured proxy, and then only its last
 * untrusted hop: the client may have written everything before that.
 */
function readClientAddress(proxies: readonly string[]): ClientAddress {
  const trusted = parseNetworks(proxies);
  return (c) => {
    const peer = canonicalAddress(connectionOf(c).incoming?.socket.remoteAddress ?? "unknown");
    if (proxies.length === 0) return peer;
    if (!isInNetworks(trusted, peer)) return peer;
    const hops = (c.req.header("x-forwarded-for") ?? "")
      .split(",")
      .map((hop) => canonicalAddress(hop.trim()));
    return hops.findLast((hop) => isIP(hop) !== 0 && !isInNetworks(trusted, hop)) ?? peer;
  };
}

export interface AccessControlDeps {
  readonly authenticator: Authenticator;
  readonly passwords?: Passwords;
  /** `guessable`: a short token chosen by a person, whose attempts are throttled. A long one needs no throttle. */
  readonly tokenStrength?: "strong" | "guessable";
  readonly attempts?: AttemptThrottle;
  /** `attempts` unless given. */
  readonly signInAttempts?: SignInThrottle;
  readonly slowLane?: SlowLane;
  readonly anonymousConnections?: AnonymousConnections;
  readonly bodyBudget?: BodyBudget;
  /** Trusted proxies. */
  readonly proxies?: readonly string[];
  /** Absent where no other host shares the store. */
  readonly acceptForwarded?: AcceptForwarded | undefined;
}

/** Everything that decides who gets in, and how often they may try. */
export interface AccessControl {
  readonly authenticator: Authenticator;
  readonly passwords: Passwords | undefined;
  readonly tokenStrength: "strong" | "guessable";
  /** With a guessable token in requests. */
  readonly attempts: AttemptThrottle;
  readonly signInAttempts: SignInThrottle;
  readonly slowLane: SlowLane;
  readonly anonymousConnections: AnonymousConnections | undefined;
  readonly bodyBudget: BodyBudget;
  readonly addressOf: ClientAddress;
  readonly acceptForwarded: AcceptForwarded | undefined;
}

export function createAccessControl(deps: AccessControlDeps): AccessControl {
  const attempts = deps.attempts ?? createAttemptThrottle();
  return {
    authenticator: deps.authenticator,
    passwords: deps.passwords,
    tokenStrength: deps.tokenStrength ?? "strong",
    attempts,
    signInAttempts: deps.signInAttempts ?? attempts,
    slowLane: deps.slowLane ?? createSlowLane(),
    anonymousConnections: deps.anonymousConnections,
    bodyBudget: deps.bodyBudget ?? createBodyBudget(),
    addressOf: readClientAddress(deps.proxies ?? []),
    acceptForwarded: deps.acceptForwarded,
  };
}

export interface HostEnv {
  /** The connection; absent for in-process requests of tests. */
  Bindings: Partial<HttpBindings>;
  Variables: {
    principal: Principal;
    requestId: string;
    encodeProblem?: EncodeProblem;
    /** The host that passed this request on, and the digest of the body that it signed. */
    forwardedFrom?: { readonly host: string; readonly body: string };
  };
}

/** Both ends of the request's connection, if it has one. */
export function connectionOf(c: Context<HostEnv>): HostEnv["Bindings"] {
  const bindings: HostEnv["Bindings"] | undefined = c.env;
  return bindings ?? {};
}

/**
 * `open` serves anybody; `principal` requires a sign-in or the token; `signed` requires a signature over the request,
 * which the handler verifies before it parses anything.
 */
export type Policy = "open" | "principal" | "signed";

export interface Route {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly policy: Policy;
  /** In bytes; one megabyte by default. */
  readonly largestBody?: number;
  /** Images and downloads of the page lead to it: it accepts a link key. */
  readonly linked?: boolean;
  /** Other hosts on the store pass requests of people on to it. */
  readonly forwarded?: boolean;
  readonly handle: (c: Context<HostEnv>) => Response | Promise<Response>;
}

export type RouteDeclaration = Required<
  Pick<Route, "policy" | "largestBody" | "linked" | "forwarded">
>;

/** Routes and middleware with what each of them declared. */
export interface PolicyTable {
  /** `middleware` passes a request on and responds only to refuse it. */
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
    mount(
      app,
      {
        method,
        path,
        policy,
        largestBody = defaultMaxBodyBytes,
        linked = false,
        forwarded = false,
        handle,
      },
    ) {
      // One function per route, so that two routes sharing a handler keep separate policies.
      const handler: Handler<HostEnv> = (c) => handle(c);
      declared.set(handler, { policy, largestBody, linked, forwarded });
      app.on(method, path, handler);
    },
  };
}

/** Refuses whoever may not use a route with this declaration. */
export function authenticateRequests(
  access: AccessControl,
): (c: Context<HostEnv>, declared: RouteDeclaration | undefined) => Promise<Response | undefined> {
  return async function authenticate(c, declared) {
    if (declared?.policy === "open" || declared?.policy === "signed") return undefined;
    if (declared === undefined && !isProtected(c.req.path)) return sendProblem(c, "not_found");

    const passedOn = (await access.acceptForwarded?.(c, declared).catch(storeFailure)) ?? "none";
    if (passedOn === "unknown") return sendProblem(c, "store_unavailable");
    if (passedOn === "refused") return sendProblem(c, "forbidden", { detail: notForwarded });
    if (passedOn === "accepted") return admit(c);

    const authorization = c.req.header("authorization");
    const isThrottled = authorization !== undefined && access.tokenStrength === "guessable";
    const isSlow = isThrottled && access.attempts.take(access.addressOf(c)) > 0;
    if (isSlow && (await access.slowLane.enter(access.addressOf(c))) === "full")
      return sendProblem(c, "too_many_requests", { retryAfter: 1 });
    // A token takes precedence over a cookie.
    const signIn = authorization === undefined ? getCookie(c, signInCookieName(c)) : undefined;
    const pageKey = c.req.header(pageKeyHeader);
    const linkKey = declared?.linked === true ? c.req.query("key") : undefined;
    const principal = await access.authenticator
      .authenticate({ authorization, signIn, pageKey, linkKey })
      .catch(storeFailure);
    if (principal === "unknown") return sendProblem(c, "store_unavailable");
    if (principal === undefined) return sendProblem(c, "unauthorized");
    if (isThrottled) access.attempts.reset(access.addressOf(c));
    c.set("principal", principal);
    return admit(c);
  };

  function admit(c: Context<HostEnv>): undefined {
    const { incoming } = connectionOf(c);
    if (incoming !== undefined) access.anonymousConnections?.sockets.delete(incoming.socket);
  }
}

const notForwarded =
  "This request claims to come from another host, but is not signed with this host's key: give every host the same HOLDFAST_SECRETS_KEY.";

function storeFailure(error: unknown): "unknown" {
  if (error instanceof StoreFailure) return "unknown";
  throw error;
}

/** From loosest to strictest. */
const policies: readonly Policy[] = ["open", "signed", "principal"];

/** The strictest of what the matching handlers declared; `undefined` if one of them has declared nothing. */
export function declarationFor(c: Context, table: PolicyTable): RouteDeclaration | undefined {
  let strictest: RouteDeclaration | undefined;
  for (const { handler } of matchedRoutes(c)) {
    const declared = table.declared.get(handler);
    if (declared === undefined) return undefined;
    if (declared !== "middleware")
      strictest = strictest === undefined ? declared : stricterOf(strictest, declared);
  }
  return strictest;
}

function stricterOf(a: RouteDeclaration, b: RouteDeclaration): RouteDeclaration {
  return {
    policy: policies.indexOf(a.policy) > policies.indexOf(b.policy) ? a.policy : b.policy,
    largestBody: Math.min(a.largestBody, b.largestBody),
    linked: a.linked && b.linked,
    forwarded: a.forwarded && b.forwarded,
  };
}

/** Below these paths, anonymous clients are not even told that a route is missing. */
function isProtected(path: string): boolean {
  return /\/(api|v1|ai|mcp)(\/|$)/.test(path);
}
