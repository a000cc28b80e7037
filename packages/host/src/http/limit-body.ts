import type { Context, MiddlewareHandler } from "hono";
import { refuse } from "./problem.ts";
import { boundsFor, connectionOf, type HostEnv, type PolicyTable } from "./route.ts";

/** A stranger has so long for what little he may send. */
const strangerMs = 10_000;

/**
 * Bounds what a request may carry by what its route takes, told beforehand or not. A body of unknown length is read here,
 * piece by piece, and handed on in a request of its own; so is every body of a route that answers strangers, within a time.
 */
export function limitBody(table: PolicyTable): MiddlewareHandler<HostEnv> {
  return async function limit(c, next) {
    const { method, headers } = c.req.raw;
    if (method === "GET" || method === "HEAD") return next();
    const { largestBody, policy } = boundsFor(c, table);
    const length = headers.get("content-length");
    if (length !== null && Number(length) > largestBody) return refuse(c, "payload_too_large");
    // Only now: who is refused is not asked to send what nobody will read.
    if (headers.get("expect")?.toLowerCase() === "100-continue")
      connectionOf(c).outgoing?.writeContinue();
    if (length !== null && !headers.has("transfer-encoding") && policy === "principal")
      return next();
    return readFirst(c, largestBody, policy === "principal" ? undefined : strangerMs, next);
  };
}

async function readFirst(
  c: Context<HostEnv>,
  most: number,
  withinMs: number | undefined,
  next: () => Promise<void>,
): Promise<Response | void> {
  const { method, headers, url, body: stream, signal } = c.req.raw;
  const body = await inTime(readUpTo(stream, most), withinMs);
  if (body === "late") return refuse(c, "request_timeout");
  if (body === "broken") return refuse(c, "invalid_request", endedEarly);
  if (body === "large") return refuse(c, "payload_too_large");
  c.req.raw = new Request(url, { method, headers, signal, ...(body.byteLength > 0 && { body }) });
  return next();
}

/** Whoever sent it has left, so that nobody may hear this; it is no bug of ours. */
export const endedEarly = { detail: "The body ended before it was whole." };

type Read = Uint8Array<ArrayBuffer> | "large" | "broken";

async function readUpTo(stream: ReadableStream<Uint8Array> | null, most: number): Promise<Read> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const piece of stream ?? []) {
      size += piece.byteLength;
      if (size > most) return "large";
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
