import type { Route } from "../http/route.ts";
import { mountStream } from "./contract.ts";
import type { ApiDeps } from "./deps.ts";

/** For whoever watches over the host, behind the same door as everything else. */
export function metricsRoutes(parts: ApiDeps): Route[] {
  return [
    mountStream(parts, "metrics", async (_, c) => {
      const text = await parts.metrics.render(parts.log.store);
      return c.body(text, 200, {
        "content-type": "text/plain; version=0.0.4; charset=utf-8",
        "cache-control": "no-store",
      });
    }),
  ];
}
