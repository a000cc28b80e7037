import type { MiddlewareHandler, Context } from "hono";
import type { ServerResponse } from "node:http";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { connectionOf, type HostEnv } from "./routing.ts";

const policyHeader = "content-security-policy";

/** What a page of Holdfast may do: run its own scripts, and talk to its own host. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  // The one frame that draws formulas and diagrams; wherever it would go instead, the page does not show it.
  "frame-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  // No text becomes markup or script but through the page's one policy, which purifies it.
  "require-trusted-types-for 'script'",
  "trusted-types holdfast",
].join("; ");

/** Holdfast speaks plain HTTP; whether its name is HTTPS for good is the reverse proxy's to say. */
const securityHeaders: Readonly<Record<string, string>> = {
  [policyHeader]: contentSecurityPolicy,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "origin-agent-cluster": "?1",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-dns-prefetch-control": "off",
  "x-download-options": "noopen",
  "x-frame-options": "DENY",
  "x-permitted-cross-domain-policies": "none",
  "x-xss-protection": "0",
};

/**
 * For the frame in which a model's formulas and diagrams are drawn: it has no origin, reaches nothing and nobody, and may be
 * shown by the page alone. Its renderers write styles into what they draw; without a network these can do no more than that.
 */
export const frameHeaders: Readonly<Record<string, string>> = {
  [policyHeader]: [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
    "sandbox allow-scripts",
  ].join("; "),
  "origin-agent-cluster": "?0",
  "x-frame-options": "SAMEORIGIN",
};

/** An answer that brings a policy of its own keeps it. */
export function addSecurityHeaders(): MiddlewareHandler<HostEnv> {
  return async function dress(c, next) {
    await next();
    if (connectionOf(c).outgoing?.headersSent) return;
    for (const [name, value] of Object.entries(securityHeaders))
      if (!c.res.headers.has(name)) c.res.headers.set(name, value);
  };
}

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
