import { workerData } from "node:worker_threads";

import { z } from "zod";

import { connect, type Connection } from "../connection.ts";
import { isBusy } from "../errors.ts";
import { createQueries, type Queries } from "../read/queries.ts";
import { type Wake, HeadWatcher } from "../read/watch.ts";
import { serveThread } from "./thread-server.ts";
import { WriteCounter } from "./shared-memory.ts";

/** The thread that reads, so that no read ever holds the event loop up. */
export type ReaderRequest =
  | {
      [Name in keyof Queries]: {
        readonly op: "query";
        readonly name: Name;
        readonly args: Parameters<Queries[Name]>;
      };
    }[keyof Queries]
  | { readonly op: "watch"; readonly sessions: readonly string[]; readonly everyMs: number | null }
  | { readonly op: "close" };

const maxBusyMs = 5_000;

export const readerOptions = z.object({
  file: z.string(),
  tally: z.instanceof(SharedArrayBuffer),
});
export type ReaderOptions = z.infer<typeof readerOptions>;

await serveThread<ReaderRequest, Wake>(async (note) => {
  const { file, tally } = readerOptions.parse(workerData);
  // Opened with the first question: by then the writer has made the file.
  let opened: { connection: Connection; queries: Queries; watchers: HeadWatcher } | undefined;
  function open() {
    const connection = connect({ file, access: "read" });
    const queries = createQueries(connection);
    const watchers = new HeadWatcher(connection, file, new WriteCounter(tally), note);
    return { connection, queries, watchers };
  }
  return {
    handle(request) {
      if (request.op === "close") return undefined;
      const { connection, queries, watchers } = (opened ??= open());
      if (request.op === "watch") return watchers.watch(request.sessions, request.everyMs);
      return inReadTransaction(connection, () => runQuery(queries, request));
    },
    close() {
      opened?.watchers.close();
      opened?.connection.close();
    },
  };
});

/** One read transaction: everything that a query returns was true at the same instant. */
async function inReadTransaction<T>(connection: Connection, read: () => T): Promise<T> {
  const deadline = performance.now() + maxBusyMs;
  for (;;) {
    try {
      connection.exec("BEGIN");
      return read();
    } catch (error) {
      // Readers wait for nobody, except while another process recovers the write-ahead log.
      if (!isBusy(error) || performance.now() >= deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * 4));
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
