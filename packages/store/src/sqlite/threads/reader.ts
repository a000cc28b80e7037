import { workerData } from "node:worker_threads";

import { sleep } from "@holdfast/protocol";
import { z } from "zod";

import { connect, type Connection } from "../connection.ts";
import { isBusy } from "../errors.ts";
import { createQueries, type Queries } from "../read/queries.ts";
import { type Wake, HeadWatcher } from "../read/watch.ts";
import { serveThread } from "./thread-server.ts";
import { WriteCounter } from "./shared-memory.ts";

/** The reader thread, so that no read blocks the event loop. */
export type ReaderRequest =
  | {
      [Name in keyof Queries]: {
        readonly op: "query";
        readonly name: Name;
        readonly args: Parameters<Queries[Name]>;
      };
    }[keyof Queries]
  | { readonly op: "watch"; readonly sessions: readonly string[]; readonly pollMs: number | null }
  | { readonly op: "close" };

const maxBusyMs = 5_000;

export const readerOptions = z.object({
  file: z.string(),
  writeCounter: z.instanceof(SharedArrayBuffer),
});
export type ReaderOptions = z.infer<typeof readerOptions>;

await serveThread<ReaderRequest, Wake>(async (notify) => {
  const { file, writeCounter } = readerOptions.parse(workerData);
  // Opened with the first query: by then the writer has created the file.
  let handle: { connection: Connection; queries: Queries; watcher: HeadWatcher } | undefined;
  function open() {
    const connection = connect({ file, access: "read" });
    const queries = createQueries(connection);
    const watcher = new HeadWatcher(connection, file, new WriteCounter(writeCounter), notify);
    return { connection, queries, watcher };
  }
  return {
    handle(request) {
      if (request.op === "close") return undefined;
      const { connection, queries, watcher } = (handle ??= open());
      if (request.op === "watch") return watcher.watch(request.sessions, request.pollMs);
      return inReadTransaction(connection, () => runQuery(queries, request));
    },
    close() {
      handle?.watcher.close();
      handle?.connection.close();
    },
  };
});

/** Runs a query in one read transaction, so that its result is consistent. */
async function inReadTransaction<T>(connection: Connection, read: () => T): Promise<T> {
  const deadline = performance.now() + maxBusyMs;
  for (;;) {
    try {
      connection.exec("BEGIN");
      return read();
    } catch (error) {
      // Readers never wait, except while another process recovers the write-ahead log.
      if (!isBusy(error) || performance.now() >= deadline) throw error;
      await sleep(1 + Math.random() * 4);
    } finally {
      if (connection.database.isTransaction) connection.exec("COMMIT");
    }
  }
}

function runQuery(
  queries: Queries,
  { name, args }: Extract<ReaderRequest, { op: "query" }>,
): unknown {
  const query = queries[name] as (...args: readonly unknown[]) => unknown;
  return query(...args);
}
