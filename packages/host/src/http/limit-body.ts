import type { MiddlewareHandler } from "hono";
import { refuse } from "./problem.ts";
import { type HostEnv, largestBodyFor, type PolicyTable } from "./route.ts";

/**
 * Bounds what a request may carry by what its route takes, told beforehand or not. A body of unknown length is read here,
 * piece by piece, and handed on in a request of its own.
 */
export function limitBody(table: PolicyTable): MiddlewareHandler<HostEnv> {
  return async function limit(c, next) {
    const { method, headers, url } = c.req.raw;
    if (method === "GET" || method === "HEAD") return next();
    const maxSize = largestBodyFor(c, table);
    const length = headers.get("content-length");
    if (length !== null && !headers.has("transfer-encoding")) {
      return Number(length) > maxSize ? refuse(c, "payload_too_large") : next();
    }
    const body = await readUpTo(c.req.raw.body, maxSize).catch(() => undefined);
    if (body === undefined) return refuse(c, "invalid_request", endedEarly);
    if (body === null) return refuse(c, "payload_too_large");
    c.req.raw = new Request(url, { method, headers, ...(body.byteLength > 0 && { body }) });
    return next();
  };
}

/** Whoever sent it has left, so that nobody may hear this; it is no bug of ours. */
export const endedEarly = { detail: "The body ended before it was whole." };

async function readUpTo(
  stream: ReadableStream<Uint8Array> | null,
  most: number,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of stream ?? []) {
    size += piece.byteLength;
    if (size > most) return null;
    pieces.push(piece);
  }
  return new Uint8Array(Buffer.concat(pieces));
}
