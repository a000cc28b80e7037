import type { MiddlewareHandler } from "hono";
import { connectionOf, type HostEnv } from "./route.ts";

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
export const securityHeaders: Readonly<Record<string, string>> = {
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
