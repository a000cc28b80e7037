import { parentPort } from "node:worker_threads";

import { failureOf, openFailureOf } from "./errors.ts";
import type { FromThread, ToThread } from "./threads.ts";

export interface ThreadServer<Request> {
  handle(request: Request): unknown;
  /** What nobody should wait for: called when the answer is on its way. */
  afterwards?(): void;
  /** Puts away what the thread holds, so that it can exit. */
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
    const { code, message } = openFailureOf(error);
    say({ kind: "unfit", code, message });
    port.close();
    return;
  }
  const end = (): void => port.close();
  async function answer({ id, request }: ToThread<Request>): Promise<void> {
    try {
      say({ kind: "reply", id, value: await server.handle(request) });
    } catch (error) {
      const { code, message } = failureOf(error);
      say({ kind: "error", id, code, message });
    }
    server.afterwards?.();
    if (request.op === "close") {
      server.close();
      end();
    }
  }
  let before = Promise.resolve();
  port.on("message", (message: ToThread<Request>) => {
    before = before.then(() => answer(message));
  });
  say({ kind: "ready" });
}
