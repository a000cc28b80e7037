import { workerData } from "node:worker_threads";

import { z } from "zod";

import { QueryServer, type ReaderRequest } from "../read/queries.ts";
import { type Wake, WriteCounter } from "../read/watch.ts";
import { serveThread } from "./thread-server.ts";

export const readerOptions = z.object({
  file: z.string(),
  writeCounter: z.instanceof(SharedArrayBuffer),
});
export type ReaderOptions = z.infer<typeof readerOptions>;

/** The reader thread, so that no read blocks the event loop. */
await serveThread<ReaderRequest, Wake>(async (notify) => {
  const { file, writeCounter } = readerOptions.parse(workerData);
  return new QueryServer(file, new WriteCounter(writeCounter), notify);
});
