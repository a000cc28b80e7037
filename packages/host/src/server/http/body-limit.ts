import { systemClock } from "@holdfast/engine";
import { withTimeout } from "@holdfast/protocol";
import type { Context, MiddlewareHandler } from "hono";
import {
  type AccessControl,
  declarationFor,
  connectionOf,
  type HostEnv,
  type PolicyTable,
} from "./routing.ts";
import { sendProblem } from "./problem.ts";
import type { BodyReservation } from "./anonymous-clients.ts";

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
export function limitBodies(table: PolicyTable, access: AccessControl): MiddlewareHandler<HostEnv> {
  return async function limit(c, next) {
    const { method, headers } = c.req.raw;
    if (method === "GET" || method === "HEAD") return next();
    const { largestBody: maxBytes, policy } = declarationFor(c, table);
    const isAnonymous = policy !== "principal";
    const length = headers.get("content-length");
    if (length !== null && Number(length) > maxBytes) return sendProblem(c, "payload_too_large");
    const { bodyBudget, addressOf } = access;
    if (isAnonymous && !bodyBudget.hasCapacity(addressOf(c), Number(length ?? 0)))
      return refuseOverBudget(c);
    // Only now: a refused client should not send a body that nobody reads.
    if (headers.get("expect")?.toLowerCase() === "100-continue")
      connectionOf(c).outgoing?.writeContinue();
    if (length !== null && !headers.has("transfer-encoding") && !isAnonymous) return next();
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
): Promise<Response | void> {
  const { method, headers, url, body: stream, signal } = c.req.raw;
  const body = await readInTime(stream, bounds);
  if (body === "late") return sendProblem(c, "request_timeout");
  if (body === "broken") return sendProblem(c, "invalid_request", incompleteBody);
  if (body === "large") return sendProblem(c, "payload_too_large");
  if (body === "no room") return refuseOverBudget(c);
  c.req.raw = new Request(url, { method, headers, signal, ...(body.byteLength > 0 && { body }) });
  return next();
}

/** The sender has probably gone and will not see this; it is not a bug. */
export const incompleteBody = { detail: "The body ended before it was whole." };

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
