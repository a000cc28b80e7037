import type { ServerResponse } from "node:http";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { securityHeaders } from "./responses.ts";
import { connectionOf, type HostEnv } from "./route.ts";

/**
 * Answers with a text, or with bytes that are held anyway. Where there is a connection it is written there at once, in every
 * header that `addSecurityHeaders` would add: a `Response` in between would cost more than all the rest of a small answer, and copy a
 * large one for everybody who asks.
 */
export function sendBody(
  c: Context<HostEnv>,
  body: string | Uint8Array<ArrayBuffer>,
  status: ContentfulStatusCode,
  headers: Readonly<Record<string, string>>,
): Response {
  const outgoing = writableResponse(c);
  if (outgoing === undefined) return c.body(body, status, headers);
  const piece =
    typeof body === "string" && body.length > maxSingleWriteLength ? Buffer.from(body) : body;
  outgoing.writeHead(status, {
    ...securityHeaders,
    ...headers,
    "x-request-id": c.get("requestId"),
    "content-length": typeof piece === "string" ? Buffer.byteLength(piece) : piece.byteLength,
  });
  outgoing.end(piece);
  return RESPONSE_ALREADY_SENT;
}

/** A text goes out together with its headers, in one write. One that is longer than this costs less as bytes. */
const maxSingleWriteLength = 8 * 1024;

/** The connection with its headers sent, for an answer that goes on; nothing where there is none to write to. */
export function startStreaming(
  c: Context<HostEnv>,
  headers: Readonly<Record<string, string>>,
): { readonly outgoing: ServerResponse; readonly response: Response } | undefined {
  const outgoing = writableResponse(c);
  if (outgoing === undefined) return undefined;
  outgoing.writeHead(200, { ...securityHeaders, ...headers, "x-request-id": c.get("requestId") });
  return { outgoing, response: RESPONSE_ALREADY_SENT };
}

/** What answers a HEAD has no body, which is the framework's to see to. */
function writableResponse(c: Context<HostEnv>): ServerResponse | undefined {
  const { outgoing } = connectionOf(c);
  return c.req.method === "HEAD" || outgoing?.headersSent ? undefined : outgoing;
}
