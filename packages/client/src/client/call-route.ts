import { uuidv7 } from "uuidv7";
import { z } from "zod";
import {
  backoffMs,
  type Problem,
  type Route,
  fieldErrors,
  makeProblem,
  problem as problemSchema,
  problemMediaType,
  sleep,
} from "@holdfast/protocol";
import type { OpenStream } from "./event-stream.ts";

/** Why a call failed. The host's own problems reach the caller unchanged. */
export type ApiError =
  | { readonly kind: "problem"; readonly code: string; readonly problem: Problem }
  /** No answer came: the host may or may not have carried it out. */
  | { readonly kind: "network"; readonly code: "network_failed"; readonly message: string }
  /** Something answered, but not as the contract says. */
  | {
      readonly kind: "unexpected";
      readonly code: "unexpected_answer";
      readonly status: number;
      readonly message: string;
    }
  | { readonly kind: "aborted"; readonly code: "aborted" };

export type Result<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: ApiError };

export function failedResult(error: ApiError): { readonly ok: false; readonly error: ApiError } {
  return { ok: false, error };
}

export function problemError(problem: Problem): ApiError {
  return { kind: "problem", code: problem.code, problem };
}

export function networkError(cause: unknown): ApiError {
  // Node's fetch says only "fetch failed"; its cause says what failed, and at which address.
  const reason = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  const message = reason instanceof Error ? reason.message : String(reason);
  return { kind: "network", code: "network_failed", message };
}

export function unexpectedAnswer(status: number, message: string): ApiError {
  return { kind: "unexpected", code: "unexpected_answer", status, message };
}

export const aborted: ApiError = { kind: "aborted", code: "aborted" };

/** Like the platform's `fetch`, and like Hono's `app.request`. */
export type Fetch = (url: string, init: RequestInit) => Response | Promise<Response>;

export interface ClientOptions {
  /** Prefix of every path; empty for the page's own origin. */
  readonly baseUrl?: string;
  readonly fetch?: Fetch;
  /** Opens event streams. By default each has its own connection. */
  readonly openStream?: OpenStream;
  /** A bearer token. Without one the browser's cookie is used. */
  readonly token?: string;
  /** From 0 (inclusive) to 1 (exclusive). */
  readonly random?: () => number;
  /** Resolves when the time has passed, or at once when the signal is aborted. It never rejects. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly newKey?: () => string;
}

/** How a request reaches its host. */
export interface RequestTransport {
  readonly baseUrl: string;
  readonly fetch: Fetch;
  readonly headers: Readonly<Record<string, string>>;
}

/** How a client reaches its host: all outside dependencies in one place. */
export interface Transport extends RequestTransport {
  readonly random: () => number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly newKey: () => string;
}

export function createTransport(options: ClientOptions): Transport {
  return {
    baseUrl: (options.baseUrl ?? "").replace(/\/+$/, ""),
    fetch: options.fetch ?? ((url, init) => fetch(url, init)),
    headers: options.token === undefined ? {} : { authorization: `Bearer ${options.token}` },
    random: options.random ?? Math.random,
    sleep: options.sleep ?? sleep,
    newKey: options.newKey ?? uuidv7,
  };
}

const retryBackoff = { firstMs: 250, longestMs: 15_000 };

/** Waits longer after each failure. Jitter keeps clients from reconnecting at the same moment. */
export function waitBeforeRetry(
  transport: Transport,
  failures: number,
  signal: AbortSignal,
): Promise<void> {
  return transport.sleep(backoffMs(retryBackoff, failures - 1, transport.random), signal);
}

/** What any route may be given; each route's own type says which of it. */
export interface RouteArguments {
  readonly params?: unknown;
  readonly query?: unknown;
  readonly headers?: unknown;
  readonly body?: unknown;
  readonly mediaType?: string;
}

export interface BuiltRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: BodyInit;
}

const optionalStrings = z.record(z.string(), z.string().optional());

/** A value that violates the contract is refused right here, with the host's own error text. */
export function buildRequest(
  transport: RequestTransport,
  route: Route,
  input: RouteArguments,
): Result<BuiltRequest> {
  const params = encodeStrings(route.params, input.params);
  const query = encodeStrings(route.query, input.query);
  const headers = encodeStrings(route.headers, input.headers);
  if (!params.ok) return params;
  if (!query.ok) return query;
  if (!headers.ok) return headers;
  const path = route.path.replaceAll(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent(params.value[name] ?? ""),
  );
  const search = new URLSearchParams(query.value).toString();
  return {
    ok: true,
    value: {
      url: `${transport.baseUrl}${path}${search === "" ? "" : `?${search}`}`,
      method: route.method,
      headers: { ...transport.headers, ...headers.value, ...mediaHeaders(route, input) },
      ...requestBody(route, input),
    },
  };
}

function encodeStrings(
  schema: z.ZodType | undefined,
  value: unknown,
): Result<Record<string, string>> {
  if (schema === undefined) return { ok: true, value: {} };
  const encoded = z.safeEncode(schema, value ?? {});
  if (!encoded.success) {
    const problem = makeProblem("invalid_request", { errors: fieldErrors(encoded.error) });
    return failedResult(problemError(problem));
  }
  const present = Object.entries(optionalStrings.parse(encoded.data)).filter(
    (pair) => pair[1] !== undefined,
  );
  return { ok: true, value: Object.fromEntries(present) as Record<string, string> };
}

function mediaHeaders(route: Route, input: RouteArguments): Record<string, string> {
  const accept = route.answer.media === "events" ? "text/event-stream" : "*/*";
  if (route.body === undefined) return { accept };
  if (route.body !== "bytes") return { accept, "content-type": "application/json" };
  // A browser gives no type for a file it does not recognise.
  return { accept, "content-type": input.mediaType || "application/octet-stream" };
}

function requestBody(route: Route, input: RouteArguments): { body?: BodyInit } {
  if (route.body === undefined) return {};
  if (route.body !== "bytes") return { body: JSON.stringify(input.body ?? {}) };
  return { body: input.body as BodyInit };
}

export async function sendRequest(
  transport: RequestTransport,
  { url, ...init }: BuiltRequest,
  signal: AbortSignal,
): Promise<Response> {
  return transport.fetch(url, { ...init, signal });
}

export interface CallOptions {
  readonly signal?: AbortSignal;
}

const maxTries = 4;
const neverAborted = new AbortController().signal;

/**
 * One call, repeated after a lost connection if that is safe. A POST keeps its key through its retries, so the host
 * carries it out once however often it arrives.
 */
export async function callRoute(
  transport: Transport,
  route: Route,
  input: RouteArguments,
  { signal = neverAborted }: CallOptions,
): Promise<Result<unknown>> {
  const built = buildRequest(transport, route, input);
  if (!built.ok) return built;
  const request = withIdempotencyKey(transport, route, built.value);
  for (let failures = 1; ; failures++) {
    const result = await tryOnce(transport, route, request, signal);
    const mayRepeat = route.repeat !== "never" && failures < maxTries;
    if (result.ok || result.error.kind !== "network" || !mayRepeat) return result;
    await waitBeforeRetry(transport, failures, signal);
    if (signal.aborted) return failedResult(aborted);
  }
}

function withIdempotencyKey(
  transport: Transport,
  route: Route,
  request: BuiltRequest,
): BuiltRequest {
  if (route.repeat !== "key") return request;
  const headers = { "idempotency-key": transport.newKey(), ...request.headers };
  return { ...request, headers };
}

async function tryOnce(
  transport: Transport,
  route: Route,
  request: BuiltRequest,
  signal: AbortSignal,
): Promise<Result<unknown>> {
  try {
    const response = await sendRequest(transport, request, signal);
    return await readResponse(route, response);
  } catch (cause) {
    return failedResult(signal.aborted ? aborted : networkError(cause));
  }
}

async function readResponse(route: Route, response: Response): Promise<Result<unknown>> {
  const { answer } = route;
  if (!response.ok) return failedResult(await readProblem(response));
  switch (answer.media) {
    case "json": {
      const parsed = answer.schema.safeParse(parseJson(await response.text()));
      if (parsed.success) return { ok: true, value: parsed.data };
      return failedResult(unexpectedAnswer(response.status, parsed.error.message));
    }
    case "text":
      return { ok: true, value: await response.text() };
    case "bytes":
      return { ok: true, value: new Uint8Array(await response.arrayBuffer()) };
    case "none":
      return { ok: true, value: undefined };
    case "events":
      return failedResult(unexpectedAnswer(response.status, "A stream is followed, not called."));
  }
}

export async function readProblem(response: Response): Promise<ApiError> {
  const text = await response.text();
  const isProblem = response.headers.get("content-type")?.startsWith(problemMediaType);
  const parsed = problemSchema.safeParse(isProblem === true ? parseJson(text) : undefined);
  if (parsed.success) return problemError(parsed.data);
  return unexpectedAnswer(response.status, text.slice(0, 200));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
