import { randomBytes } from "node:crypto";
import { systemClock } from "@holdfast/engine";
import { withTimeout } from "@holdfast/protocol";
import { type Context, type MiddlewareHandler, Hono } from "hono";
import { TrieRouter } from "hono/router/trie-router";
import type { Logger } from "../../ops/telemetry/logger.ts";
import {
  connectionOf,
  type HostEnv,
  checkHostAndOrigin,
  type AccessControl,
  type AccessControlDeps,
  createAccessControl,
  createPolicyTable,
  declarationFor,
  type PolicyTable,
  type RouteDeclaration,
  authenticateRequests,
  type Route,
} from "./routing.ts";
import { addHeaders } from "./responses.ts";
import type { BodyReservation } from "./anonymous-clients.ts";
import { isAsset, type Page, pageRoutes } from "./page.ts";
import { incompleteBody, sendProblem } from "./problem.ts";
import { chooseProblemForm, type Protocol } from "./protocol.ts";
import { signInRoutes } from "./sign-in.ts";

/** Gives requests an id for their response and their log line. Clients cannot choose it. */
function countRequests(): () => string {
  const boot = randomBytes(6).toString("base64url");
  let count = 0;
  return () => {
    count += 1;
    return `${boot}-${count.toString(36)}`;
  };
}

/** The log shows only the path of a request. */
function logRequest(
  c: Context<HostEnv>,
  logger: NonNullable<HttpAppDeps["logger"]>,
  startedAt: number,
): void {
  const { method, path } = c.req;
  const { outgoing } = connectionOf(c);
  const status = outgoing?.headersSent ? outgoing.statusCode : c.res.status;
  const ms = Math.round(performance.now() - startedAt);
  const requestId = c.get("requestId");
  logger[levelOf(method, status)]("request", {
    requestId,
    method,
    path: path.slice(0, 300),
    status,
    ms,
  });
}

/** A stopping host or an unavailable store logs that once by itself, so 503 is no error here. */
function levelOf(method: string, status: number): "debug" | "info" | "error" {
  if (status >= 500 && status !== 503) return "error";
  return method === "GET" || method === "HEAD" ? "debug" : "info";
}

const anonymousBodyTimeoutMs = 10_000;

/** How much is read, and the share it counts against if the client is anonymous. */
interface BodyBounds {
  readonly maxBytes: number;
  readonly reservation: BodyReservation | undefined;
}

/**
 * Limits a body to what its route accepts, whether its length is declared or not. A body of unknown length is buffered
 * here and passed on in a new request. So is every body of an anonymous route, within a deadline and a budget shared by
 * all anonymous clients.
 */
function limitBodies({ bodyBudget, addressOf }: AccessControl) {
  return async function limit(
    c: Context<HostEnv>,
    { largestBody: maxBytes, policy }: RouteDeclaration,
    next: () => Promise<void>,
  ): Promise<Response | undefined> {
    const { headers } = c.req.raw;
    const isAnonymous = policy !== "principal";
    const length = headers.get("content-length");
    if (length !== null && Number(length) > maxBytes) return sendProblem(c, "payload_too_large");
    if (isAnonymous && !bodyBudget.hasCapacity(addressOf(c), Number(length ?? 0)))
      return refuseOverBudget(c);
    // Only now: a refused client should not send a body that nobody reads.
    if (headers.get("expect")?.toLowerCase() === "100-continue")
      connectionOf(c).outgoing?.writeContinue();
    if (length !== null && !headers.has("transfer-encoding") && !isAnonymous) return passOn(next);
    const reservation = isAnonymous ? bodyBudget.reserve(addressOf(c)) : undefined;
    try {
      return await bufferBody(c, { maxBytes, reservation }, next);
    } finally {
      reservation?.release();
    }
  };
}

function refuseOverBudget(c: Context<HostEnv>): Response {
  return sendProblem(c, "too_many_requests", {
    retryAfter: Math.ceil(anonymousBodyTimeoutMs / 1_000),
  });
}

async function bufferBody(
  c: Context<HostEnv>,
  bounds: BodyBounds,
  next: () => Promise<void>,
): Promise<Response | undefined> {
  const { method, headers, url, body: stream, signal } = c.req.raw;
  const body = await readInTime(stream, bounds);
  if (body === "late") return sendProblem(c, "request_timeout");
  if (body === "broken") return sendProblem(c, "invalid_request", incompleteBody);
  if (body === "large") return sendProblem(c, "payload_too_large");
  if (body === "no room") return refuseOverBudget(c);
  c.req.raw = new Request(url, { method, headers, signal, ...(body.byteLength > 0 && { body }) });
  return passOn(next);
}

async function passOn(next: () => Promise<void>): Promise<undefined> {
  await next();
}

type BodyRead = Uint8Array<ArrayBuffer> | "large" | "broken" | "no room";

async function readUpTo(
  stream: ReadableStream<Uint8Array> | null,
  { maxBytes, reservation }: BodyBounds,
): Promise<BodyRead> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of stream ?? []) {
      size += chunk.byteLength;
      if (size > maxBytes) return "large";
      if (reservation?.take(chunk.byteLength) === false) return "no room";
      chunks.push(chunk);
    }
  } catch {
    return "broken";
  }
  return new Uint8Array(Buffer.concat(chunks));
}

async function readInTime(
  stream: ReadableStream<Uint8Array> | null,
  bounds: BodyBounds,
): Promise<BodyRead | "late"> {
  if (bounds.reservation === undefined) return readUpTo(stream, bounds);
  const limit = { clock: systemClock, ms: anonymousBodyTimeoutMs };
  const read = await withTimeout(limit, () => readUpTo(stream, bounds));
  return read.status === "done" ? read.value : "late";
}

/** Health for monitoring. */
export interface Health {
  readonly status: "ok" | "degraded" | "stopping";
  /** Whether the host accepts work; answering at all means that it is alive. */
  readonly ready: boolean;
  /** Why it is not ready, for people. */
  readonly reasons: readonly string[];
  readonly roles: readonly string[];
  readonly store: {
    readonly kind: string;
    readonly ready: boolean;
    /** Why it refuses writes: the same code that refused writes get. */
    readonly code?: string;
    /** How many sessions have lost confirmed events of late, and when that was noticed. The store works. */
    readonly lost?: { readonly sessions: number; readonly at: number };
  };
}

export interface HttpAppDeps extends AccessControlDeps {
  readonly version: string;
  readonly page: Page;
  /** The contract's routes. */
  readonly api: readonly Route[];
  /** Other protocols beside the contract. */
  readonly protocols?: readonly Protocol[];
  /** Endpoints that platforms push to, each behind its own secret. */
  readonly pushRoutes?: readonly Route[];
  readonly health: () => Promise<Health>;
  readonly host: string;
  readonly origin: string | undefined;
  readonly internalAddress?: string | undefined;
  readonly basePath: string;
  /** Receives bugs with their stacks. */
  readonly report: (bug: Error, about?: { readonly requestId: string }) => void;
  /** Receives one line per request. */
  readonly logger?: Pick<Logger, "debug" | "info" | "error">;
}

/**
 * Every check that a request passes before its handler, and what every response gets. One function: each middleware
 * of the framework takes several turns of the promise queue.
 */
function checkRequests(
  deps: HttpAppDeps,
  table: PolicyTable,
  access: AccessControl,
): MiddlewareHandler<HostEnv> {
  const { logger, report } = deps;
  const nextRequestId = countRequests();
  const assets = new Set(deps.page.filter(isAsset).map(({ name }) => `${deps.basePath}/${name}`));
  const checkAddress = checkHostAndOrigin(deps, (path) => assets.has(path));
  const authenticate = authenticateRequests(access);
  const limitBody = limitBodies(access);
  const chooseForm = chooseProblemForm(deps.protocols ?? [], deps.basePath);

  /** Denies by default: a route that has declared nothing looks missing. */
  async function refuseOrPass(
    c: Context<HostEnv>,
    next: () => Promise<void>,
  ): Promise<Response | undefined> {
    try {
      const declared = declarationFor(c, table);
      const refusal = checkAddress(c) ?? (await authenticate(c, declared));
      if (refusal !== undefined) return refusal;
      if (declared === undefined) return sendProblem(c, "not_found");
      const { method } = c.req;
      if (method !== "GET" && method !== "HEAD") return await limitBody(c, declared, next);
      await next();
      return undefined;
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      report(error, { requestId: c.get("requestId") });
      return sendProblem(c, "internal");
    }
  }

  return async function check(c, next) {
    const startedAt = performance.now();
    c.set("requestId", nextRequestId());
    chooseForm(c);
    const refusal = await refuseOrPass(c, next);
    if (refusal !== undefined) c.res = refusal;
    if (!connectionOf(c).outgoing?.headersSent) addHeaders(c);
    if (logger !== undefined) logRequest(c, logger, startedAt);
  };
}

/** The whole HTTP surface without a server: tests call `app.request`. */
export function createHttpApp(deps: HttpAppDeps): Hono<HostEnv> {
  // The default router compiles all routes with the first request: megabytes in an idle host, for less than 1 µs a request.
  const app = new Hono<HostEnv>({ router: new TrieRouter() });
  const table = createPolicyTable();
  const access = createAccessControl(deps);

  app.notFound((c) => sendProblem(c, "not_found"));
  app.onError((bug, c) => {
    deps.report(bug, { requestId: c.get("requestId") });
    return sendProblem(c, "internal");
  });

  table.use(app, checkRequests(deps, table, access));

  for (const route of allRoutes(deps, access)) {
    table.mount(app, { ...route, path: deps.basePath + route.path });
  }
  return app;
}

function allRoutes(deps: HttpAppDeps, access: AccessControl): Route[] {
  const { api, protocols = [], pushRoutes = [], basePath, health, page, version } = deps;
  const routes: Route[] = [
    {
      method: "GET",
      path: "/health",
      policy: "open",
      async handle(c) {
        const { status, store, ...how } = await health();
        // Load balancers probe readiness and look at the status code.
        const code = c.req.query("ready") !== undefined && !how.ready ? 503 : 200;
        return c.json({ version, status, ...how, store }, code, { "cache-control": "no-store" });
      },
    },
    ...api,
    ...protocols.flatMap((protocol) => protocol.routes),
    ...pushRoutes,
    ...signInRoutes(access, deps),
    ...pageRoutes(page),
  ];
  // The page's links are relative, so its URL must end in a slash.
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
