import { z } from "zod";

import { type Route, fieldErrors, makeProblem } from "@holdfast/protocol";
import type { Transport } from "./link.ts";
import { failedResult, problemError, type Result } from "./call-route.ts";

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

/** A value that the contract refuses is refused here already, in the host's own words. */
export function buildRequest(
  link: Transport,
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
      url: `${link.baseUrl}${path}${search === "" ? "" : `?${search}`}`,
      method: route.method,
      headers: { ...link.headers, ...headers.value, ...mediaHeaders(route, input) },
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
  const given = Object.entries(optionalStrings.parse(encoded.data)).filter(
    (pair) => pair[1] !== undefined,
  );
  return { ok: true, value: Object.fromEntries(given) as Record<string, string> };
}

function mediaHeaders(route: Route, input: RouteArguments): Record<string, string> {
  const accept = route.answer.media === "events" ? "text/event-stream" : "*/*";
  if (route.body === undefined) return { accept };
  if (route.body !== "bytes") return { accept, "content-type": "application/json" };
  // A browser names no type for a file that it does not know.
  return { accept, "content-type": input.mediaType || "application/octet-stream" };
}

function requestBody(route: Route, input: RouteArguments): { body?: BodyInit } {
  if (route.body === undefined) return {};
  if (route.body !== "bytes") return { body: JSON.stringify(input.body ?? {}) };
  return { body: input.body as BodyInit };
}

export async function sendRequest(
  link: Transport,
  { url, ...init }: BuiltRequest,
  signal: AbortSignal,
): Promise<Response> {
  return link.fetch(url, { ...init, signal });
}
