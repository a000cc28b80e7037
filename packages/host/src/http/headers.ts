import type { MiddlewareHandler } from "hono";
import { secureHeaders } from "hono/secure-headers";

const policyHeader = "content-security-policy";
const none = ["'none'"];
const self = ["'self'"];

/**
 * What a page of Holdfast may do: run its own scripts, and talk to its own host. An answer that brings a policy of its own
 * keeps it.
 */
export function safeHeaders(): MiddlewareHandler {
  const secure = secureHeaders({
    contentSecurityPolicy: {
      defaultSrc: none,
      scriptSrc: self,
      styleSrc: self,
      imgSrc: [...self, "data:", "blob:"],
      fontSrc: self,
      connectSrc: self,
      manifestSrc: self,
      formAction: self,
      baseUri: none,
      frameAncestors: none,
      // No text becomes markup or script but through the page's one policy, which purifies it.
      requireTrustedTypesFor: ["'script'"],
      trustedTypes: ["holdfast"],
    },
    referrerPolicy: "no-referrer",
    xFrameOptions: "DENY",
    // Holdfast speaks plain HTTP; whether the name is HTTPS for good is the reverse proxy's to say.
    strictTransportSecurity: false,
  });
  return async function safe(c, next) {
    let own: string | null = null;
    await secure(c, async () => {
      await next();
      own = c.res.headers.get(policyHeader);
    });
    if (own !== null) c.res.headers.set(policyHeader, own);
  };
}
