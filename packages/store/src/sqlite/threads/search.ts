import { workerData } from "node:worker_threads";

import type { SearchQuery } from "@holdfast/engine";
import type { OwnerId } from "@holdfast/protocol";
import { z } from "zod";

import { serveThread } from "./thread-server.ts";
import { SearchService } from "../search/service.ts";

/** The search thread. It keeps the index up to date in the background, between requests. */
export type SearchRequest =
  | { readonly op: "search"; readonly owner: OwnerId; readonly query: SearchQuery }
  | { readonly op: "wake" }
  | { readonly op: "step" }
  | { readonly op: "rebuild" }
  | { readonly op: "close" };

export const threadOptions = z.object({ file: z.string() });

await serveThread<SearchRequest, never>(async () => {
  const service = new SearchService(threadOptions.parse(workerData).file);
  return {
    handle(request): unknown {
      switch (request.op) {
        case "search":
          return service.search(request.owner, request.query);
        case "wake":
          return service.wake();
        case "step":
          return service.step();
        case "rebuild":
          return service.rebuild();
        case "close":
          return undefined;
      }
    },
    close: () => service.close(),
  };
});
