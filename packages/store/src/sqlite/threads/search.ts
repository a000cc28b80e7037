import { workerData } from "node:worker_threads";

import { z } from "zod";

import { type SearchRequest, SearchService } from "../search/service.ts";
import { serveThread } from "./thread-server.ts";

export const threadOptions = z.object({ file: z.string() });

/** The search thread. It keeps the index up to date in the background, between requests. */
await serveThread<SearchRequest, never>(
  async () => new SearchService(threadOptions.parse(workerData).file),
);
