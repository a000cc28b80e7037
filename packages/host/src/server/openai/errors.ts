import type { Problem } from "@holdfast/protocol";
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { ProtocolError } from "../http/protocol.ts";
import type { HostEnv } from "../http/routing.ts";

/** The error object of OpenAI's API. */
export interface OpenAiError {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
}

export function encodeOpenAiProblem(problem: Problem): ProtocolError {
  const { title, detail, next, errors = [], status, code } = problem;
  const [first] = errors;
  const field = first === undefined ? undefined : `${first.path}: ${first.message}.`;
  const error: OpenAiError = {
    message: [detail ?? title, field, next].filter((text) => text !== undefined).join(" "),
    type: typeOf(status),
    param: first?.path ?? null,
    code,
  };
  return { body: { error } };
}

/** A request that is refused, before anything was admitted. */
export interface Refusal {
  readonly status: ContentfulStatusCode;
  readonly code: string;
  /** What is wrong and what to do next. */
  readonly message: string;
  readonly param?: string;
}

export function refuse(
  status: ContentfulStatusCode,
  code: string,
  message: string,
  param?: string,
): Refusal {
  return { status, code, message, ...(param !== undefined && { param }) };
}

export function isRefusal(value: unknown): value is Refusal {
  return (
    typeof value === "object" &&
    value !== null &&
    "status" in value &&
    "code" in value &&
    "message" in value
  );
}

export function errorOf({ status, code, message, param }: Refusal): OpenAiError {
  return { message, type: typeOf(status), param: param ?? null, code };
}

export function sendRefusal(c: Context<HostEnv>, refusal: Refusal): Response {
  return c.json({ error: errorOf(refusal) }, refusal.status, { "cache-control": "no-store" });
}

function typeOf(status: number): string {
  if (status === 401) return "authentication_error";
  if (status === 403) return "permission_error";
  if (status === 404) return "not_found";
  if (status === 429) return "too_many_requests";
  return status >= 500 ? "server_error" : "invalid_request";
}
