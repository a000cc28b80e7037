import type { MiddlewareHandler } from "hono";
import { secureHeaders } from "hono/secure-headers";

const none = ["'none'"];
const self = ["'self'"];

/** What a page of Holdfast may do: run its own scripts, and talk to its own host. */
export function safeHeaders(): MiddlewareHandler {
  return secureHeaders({
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
    },
    referrerPolicy: "no-referrer",
    xFrameOptions: "DENY",
    // Holdfast speaks plain HTTP; whether the name is HTTPS for good is the reverse proxy's to say.
    strictTransportSecurity: false,
  });
}
