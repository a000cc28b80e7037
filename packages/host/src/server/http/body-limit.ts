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

/** A stranger has so long for what little he may send. */
const anonymousBodyTimeoutMs = 10_000;

/** How much is read, and against whose share: a guest is somebody of whom nobody knows yet who it is. */
interface BodyBounds {
  readonly maxBytes: number;
  readonly reservation: BodyReservation | undefined;
}

/**
 * Bounds what a request may carry by what its route takes, told beforehand or not. A body of unknown length is read here,
 * piece by piece, and handed on in a request of its own; so is every body of a route that answers strangers, within a time,
 * and together with all others of strangers within the room that there is for them.
 */
export function limitBodies(table: PolicyTable, door: AccessControl): MiddlewareHandler<HostEnv> {
  return async function limit(c, next) {
    const { method, headers } = c.req.raw;
    if (method === "GET" || method === "HEAD") return next();
    const { largestBody: most, policy } = declarationFor(c, table);
    const isStranger = policy !== "principal";
    const length = headers.get("content-length");
    if (length !== null && Number(length) > most) return sendProblem(c, "payload_too_large");
    const { bodyBudget: waitingRoom, addressOf } = door;
    if (isStranger && !waitingRoom.hasCapacity(addressOf(c), Number(length ?? 0)))
      return refuseOverBudget(c);
    // Only now: who is refused is not asked to send what nobody will read.
    if (headers.get("expect")?.toLowerCase() === "100-continue")
      connectionOf(c).outgoing?.writeContinue();
    if (length !== null && !headers.has("transfer-encoding") && !isStranger) return next();
    const guest = isStranger ? waitingRoom.reserve(addressOf(c)) : undefined;
    try {
      return await bufferBody(c, { maxBytes: most, reservation: guest }, next);
    } finally {
      guest?.release();
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
  const body = await withTimeout(
    readUpTo(stream, bounds),
    bounds.reservation && anonymousBodyTimeoutMs,
  );
  if (body === "late") return sendProblem(c, "request_timeout");
  if (body === "broken") return sendProblem(c, "invalid_request", incompleteBody);
  if (body === "large") return sendProblem(c, "payload_too_large");
  if (body === "no room") return refuseOverBudget(c);
  c.req.raw = new Request(url, { method, headers, signal, ...(body.byteLength > 0 && { body }) });
  return next();
}

/** Whoever sent it has left, so that nobody may hear this; it is no bug of ours. */
export const incompleteBody = { detail: "The body ended before it was whole." };

type BodyRead = Uint8Array<ArrayBuffer> | "large" | "broken" | "no room";

async function readUpTo(
  stream: ReadableStream<Uint8Array> | null,
  { maxBytes: most, reservation: guest }: BodyBounds,
): Promise<BodyRead> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const piece of stream ?? []) {
      size += piece.byteLength;
      if (size > most) return "large";
      if (guest?.take(piece.byteLength) === false) return "no room";
      pieces.push(piece);
    }
  } catch {
    return "broken";
  }
  return new Uint8Array(Buffer.concat(pieces));
}

async function withTimeout(
  read: Promise<BodyRead>,
  withinMs: number | undefined,
): Promise<BodyRead | "late"> {
  if (withinMs === undefined) return read;
  const { promise: late, resolve } = Promise.withResolvers<"late">();
  const timer = setTimeout(() => resolve("late"), withinMs);
  try {
    return await Promise.race([read, late]);
  } finally {
    clearTimeout(timer);
  }
}
