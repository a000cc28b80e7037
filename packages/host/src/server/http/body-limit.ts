import type { Context, MiddlewareHandler } from "hono";
import type { Door } from "./door.ts";
import { refuse } from "./problem.ts";
import { boundsFor, connectionOf, type HostEnv, type PolicyTable } from "./route.ts";
import type { Guest } from "./waiting-room.ts";

/** A stranger has so long for what little he may send. */
const strangerMs = 10_000;

/** How much is read, and against whose share: a guest is somebody of whom nobody knows yet who it is. */
interface Bounds {
  readonly most: number;
  readonly guest: Guest | undefined;
}

/**
 * Bounds what a request may carry by what its route takes, told beforehand or not. A body of unknown length is read here,
 * piece by piece, and handed on in a request of its own; so is every body of a route that answers strangers, within a time,
 * and together with all others of strangers within the room that there is for them.
 */
export function limitBody(table: PolicyTable, door: Door): MiddlewareHandler<HostEnv> {
  return async function limit(c, next) {
    const { method, headers } = c.req.raw;
    if (method === "GET" || method === "HEAD") return next();
    const { largestBody: most, policy } = boundsFor(c, table);
    const isStranger = policy !== "principal";
    const length = headers.get("content-length");
    if (length !== null && Number(length) > most) return refuse(c, "payload_too_large");
    const { waitingRoom, addressOf } = door;
    if (isStranger && !waitingRoom.hasRoom(addressOf(c), Number(length ?? 0))) return noRoom(c);
    // Only now: who is refused is not asked to send what nobody will read.
    if (headers.get("expect")?.toLowerCase() === "100-continue")
      connectionOf(c).outgoing?.writeContinue();
    if (length !== null && !headers.has("transfer-encoding") && !isStranger) return next();
    const guest = isStranger ? waitingRoom.enter(addressOf(c)) : undefined;
    try {
      return await readFirst(c, { most, guest }, next);
    } finally {
      guest?.leave();
    }
  };
}

function noRoom(c: Context<HostEnv>): Response {
  return refuse(c, "too_many_requests", { retryAfter: Math.ceil(strangerMs / 1_000) });
}

async function readFirst(
  c: Context<HostEnv>,
  bounds: Bounds,
  next: () => Promise<void>,
): Promise<Response | void> {
  const { method, headers, url, body: stream, signal } = c.req.raw;
  const body = await inTime(readUpTo(stream, bounds), bounds.guest && strangerMs);
  if (body === "late") return refuse(c, "request_timeout");
  if (body === "broken") return refuse(c, "invalid_request", endedEarly);
  if (body === "large") return refuse(c, "payload_too_large");
  if (body === "no room") return noRoom(c);
  c.req.raw = new Request(url, { method, headers, signal, ...(body.byteLength > 0 && { body }) });
  return next();
}

/** Whoever sent it has left, so that nobody may hear this; it is no bug of ours. */
export const endedEarly = { detail: "The body ended before it was whole." };

type Read = Uint8Array<ArrayBuffer> | "large" | "broken" | "no room";

async function readUpTo(
  stream: ReadableStream<Uint8Array> | null,
  { most, guest }: Bounds,
): Promise<Read> {
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

async function inTime(read: Promise<Read>, withinMs: number | undefined): Promise<Read | "late"> {
  if (withinMs === undefined) return read;
  const { promise: late, resolve } = Promise.withResolvers<"late">();
  const timer = setTimeout(() => resolve("late"), withinMs);
  try {
    return await Promise.race([read, late]);
  } finally {
    clearTimeout(timer);
  }
}
