import { parentPort } from "node:worker_threads";

import type { StoreFailure } from "@holdfast/engine";

import { OpenFailure } from "../shared/index.ts";
import { failureOf } from "./errors.ts";
import type { FromThread, ToThread } from "./threads.ts";

export interface ThreadServer<Request> {
  /** `end` closes what the thread holds and lets it exit. */
  handle(request: Request): unknown;
  close(): void;
}

/** The thread's end: opens, says so or says why not, then answers requests in their order. */
export async function serveThread<Request extends { readonly op: string }, Note>(
  open: (note: (note: Note) => void) => Promise<ThreadServer<Request>>,
): Promise<void> {
  const port = parentPort;
  if (port === null) throw new Error("This file is the beginning of a worker thread.");
  const say = (message: FromThread<Note>): void => port.postMessage(message);
  let server: ThreadServer<Request>;
  try {
    server = await open((note) => say({ kind: "note", note }));
  } catch (error) {
    const code = error instanceof OpenFailure ? error.code : "store_unavailable";
    say({
      kind: "unfit",
      code,
      message: error instanceof OpenFailure ? error.message : failureOf(error).message,
    });
    port.close();
    return;
  }
  let order = Promise.resolve();
  port.on("message", ({ id, request }: ToThread<Request>) => {
    order = order.then(async () => {
      if (request.op === "close") {
        server.close();
        say({ kind: "reply", id, value: undefined });
        port.close();
        return;
      }
      try {
        say({ kind: "reply", id, value: await server.handle(request) });
      } catch (error) {
        const { code, message } = failureOf(error);
        say({ kind: "error", id, code: code satisfies StoreFailure["code"], message });
      }
    });
  });
  say({ kind: "ready" });
}
