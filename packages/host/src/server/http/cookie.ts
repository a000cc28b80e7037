import type { Context } from "hono";
import { requestHost } from "./routing.ts";

/**
 * Browsers share cookies between the ports of one host name. The port in the name keeps two hosts
 * on one machine from signing each other out.
 */
export function signInCookieName(c: Context): string {
  const port = requestHost(c.req).split(":").at(-1);
  return /^\d+$/.test(port ?? "") ? `holdfast_${port}` : "holdfast";
}
