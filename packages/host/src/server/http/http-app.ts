import { randomBytes } from "node:crypto";
import type { MiddlewareHandler } from "hono";
import type { Logger } from "../../ops/telemetry/telemetry-logger.ts";
import { connectionOf, type HostEnv } from "./route.ts";

/**
 * Gives each request a name, which its answer and what is told about it carry. Nobody else chooses it, and nothing of what was
 * asked but the path is told.
 */
export function logRequests(
  logger: Pick<Logger, "debug" | "info" | "error"> | undefined,
): MiddlewareHandler<HostEnv> {
  const boot = randomBytes(6).toString("base64url");
  let count = 0;
  return async function request(c, next) {
    count += 1;
    const requestId = `${boot}-${count.toString(36)}`;
    c.set("requestId", requestId);
    const begun = performance.now();
    await next();
    const { outgoing } = connectionOf(c);
    const isSent = outgoing?.headersSent ?? false;
    if (!isSent) c.header("x-request-id", requestId);
    if (logger === undefined) return;
    const { method, path } = c.req;
    const status = isSent ? (outgoing?.statusCode ?? 0) : c.res.status;
    const how = levelOf(method, status);
    const ms = Math.round(performance.now() - begun);
    logger[how]("request", { requestId, method, path: path.slice(0, 300), status, ms });
  };
}

/** A host that stops, or whose store is away, says so once in a line of its own, and not again for everybody who asks. */
function levelOf(method: string, status: number): "debug" | "info" | "error" {
  if (status >= 500 && status !== 503) return "error";
  return method === "GET" || method === "HEAD" ? "debug" : "info";
}
