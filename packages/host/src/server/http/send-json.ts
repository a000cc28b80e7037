import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";
import type { Context } from "hono";
import { accepts } from "hono/accepts";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { sendBody } from "./responses.ts";
import type { HostEnv } from "./routing.ts";

const jsonHeaders = { "content-type": "application/json", "cache-control": "no-store" };

/** Below it the headers are most of the answer; above it a wait for the compression would be noticed on the host itself. */
const compressedLengths = { from: 4 * 1024, to: 256 * 1024 };

const compress = promisify(gzip);

/** Sends JSON, compressed if that saves a page on a slow network something. */
export async function sendJson(
  c: Context<HostEnv>,
  body: string | Uint8Array<ArrayBuffer>,
  status: ContentfulStatusCode,
): Promise<Response> {
  if (body.length < compressedLengths.from || body.length > compressedLengths.to)
    return sendBody(c, body, status, jsonHeaders);
  const varying = { ...jsonHeaders, vary: "accept-encoding" };
  const encoding = accepts(c, {
    header: "Accept-Encoding",
    supports: ["gzip"],
    default: "identity",
    match: (offers, { default: none }) =>
      offers.some(({ type, q }) => type === "gzip" && q > 0) ? "gzip" : none,
  });
  if (encoding !== "gzip") return sendBody(c, body, status, varying);
  const bytes = await compress(body, { level: constants.Z_BEST_SPEED });
  return sendBody(c, bytes, status, { ...varying, "content-encoding": encoding });
}
