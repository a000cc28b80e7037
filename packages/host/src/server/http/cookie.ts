import type { Context } from "hono";
import { hostOf } from "./routing.ts";

/**
 * Browsers share cookies between the ports of one host name. The port in the name keeps two hosts
 * on one machine from signing each other out.
 */
export function cookieNameFor(c: Context): string {
  const port = hostOf(c.req).split(":").at(-1);
  return /^\d+$/.test(port ?? "") ? `holdfast_${port}` : "holdfast";
}
