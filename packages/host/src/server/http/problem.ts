import {
  makeProblem,
  type ProblemCode,
  type ProblemDetails,
  problemKinds,
  problemMediaType,
} from "@holdfast/protocol";
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { EncodeProblem } from "./protocol.ts";

/** In seconds. */
const defaultRetryAfter: Partial<Record<ProblemCode, number>> = {
  shutting_down: 5,
  store_busy: 1,
  store_unavailable: 2,
  store_unwritable: 5,
  store_full: 5,
  store_unknown: 1,
  too_many_requests: 1,
};

export function sendProblem(c: Context, code: ProblemCode, details: ProblemDetails = {}): Response {
  const { status } = problemKinds[code];
  const headers: Record<string, string> = {
    "content-type": problemMediaType,
    "cache-control": "no-store",
  };
  if (status === 401) headers["www-authenticate"] = "Bearer";
  const wait = details.retryAfter ?? defaultRetryAfter[code];
  if (wait !== undefined) headers["retry-after"] = String(wait);
  const requestId: unknown = c.get("requestId");
  const instance = typeof requestId === "string" ? { instance: requestId } : {};
  const problem = makeProblem(code, { ...instance, ...details });
  const encode = c.get("encodeProblem") as EncodeProblem | undefined;
  if (encode === undefined) return c.body(JSON.stringify(problem), status, headers);
  const { body, mediaType = "application/json", headers: more, ...own } = encode(problem);
  // The protocol may have a status of its own for a refusal.
  const ownStatus = (own.status ?? status) as ContentfulStatusCode;
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return c.body(text, ownStatus, {
    ...headers,
    "content-type": mediaType,
    ...more,
  });
}

/** The sender has probably gone and will not see this; it is not a bug. */
export const incompleteBody = { detail: "The body ended before it was whole." };
