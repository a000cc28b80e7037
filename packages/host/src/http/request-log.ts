import { randomBytes } from "node:crypto";
import type { MiddlewareHandler } from "hono";
import type { Logger } from "../telemetry/index.ts";
import type { HostEnv } from "./route.ts";

/**
 * Gives each request a name, which its answer and what is told about it carry. Nobody else chooses it, and nothing of what was
 * asked but the path is told.
 */
export function nameRequests(
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
    c.header("x-request-id", requestId);
    if (logger === undefined) return;
    const { method, path } = c.req;
    const { status } = c.res;
    const how = status >= 500 ? "error" : method === "GET" || method === "HEAD" ? "debug" : "info";
    const ms = Math.round(performance.now() - begun);
    logger[how]("request", { requestId, method, path: path.slice(0, 300), status, ms });
  };
}
