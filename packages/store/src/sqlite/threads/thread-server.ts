import { type MessagePort, parentPort, receiveMessageOnPort } from "node:worker_threads";

import type { WakeSignal } from "./shared-memory.ts";
import { failureOf, openFailureOf } from "../errors.ts";
import type { FromThread, ToThread } from "./thread-client.ts";

export interface ThreadServer<Request> {
  handle(request: Request): unknown;
  /** What nobody should wait for: called when the answer is on its way. Says whether there is more to do in a pause. */
  afterReply?(): "done" | "in a pause";
  /** The rest of it, when nothing has been asked for a moment. */
  whenIdle?(): void;
  /** Puts away what the thread holds, so that it can exit. */
  close(): void;
}

/** The thread's end: opens, says so or says why not, then answers requests in their order. */
export async function serveThread<Asked extends { readonly op: string }, Note>(
  open: (note: (note: Note) => void) => Promise<ThreadServer<Asked>>,
): Promise<void> {
  const port = requireParentPort();
  const server = await openOrReport(port, () => open((note) => post(port, { kind: "note", note })));
  if (server === undefined) return;
  let before = Promise.resolve();
  port.on("message", (message: ToThread<Asked>) => {
    before = before.then(() => answerRequest(port, server, message));
  });
  post(port, { kind: "ready" });
}

/** The same for a thread without an event loop: it answers at once, and stands still until the bell rings. */
export async function serveBlockingThread<Asked extends { readonly op: string }>(
  bell: WakeSignal,
  open: () => Promise<ThreadServer<Asked>>,
): Promise<void> {
  const port = requireParentPort();
  const server = await openOrReport(port, open);
  if (server === undefined) return;
  post(port, { kind: "ready" });
  let left: "done" | "in a pause" = "done";
  for (;;) {
    if (left === "in a pause" && bell.isIdleFor(idleAfterMs)) {
      server.whenIdle?.();
      left = "done";
    }
    // It may have been rung for what was answered already: then there is nothing to take, and it is not yet a pause.
    bell.wait();
    for (
      let next = receiveRequest<Asked>(port);
      next !== undefined;
      next = receiveRequest<Asked>(port)
    ) {
      const { id, request } = next;
      try {
        post(port, { kind: "reply", id, value: server.handle(request) });
      } catch (error) {
        postFailure(port, id, error);
      }
      left = server.afterReply?.() ?? "done";
      if (request.op !== "close") continue;
      server.close();
      port.close();
      return;
    }
  }
}

/** What follows upon something else follows sooner than this. */
const idleAfterMs = 5;

async function answerRequest<Asked extends { readonly op: string }>(
  port: MessagePort,
  server: ThreadServer<Asked>,
  { id, request }: ToThread<Asked>,
): Promise<void> {
  try {
    post(port, { kind: "reply", id, value: await server.handle(request) });
  } catch (error) {
    postFailure(port, id, error);
  }
  server.afterReply?.();
  if (request.op !== "close") return;
  server.close();
  port.close();
}

/** Only the store's own `ThreadClient` has the other end. */
function receiveRequest<Asked>(port: MessagePort): ToThread<Asked> | undefined {
  return receiveMessageOnPort(port)?.message as ToThread<Asked> | undefined;
}

function requireParentPort(): MessagePort {
  if (parentPort === null) throw new Error("This file is the beginning of a worker thread.");
  return parentPort;
}

async function openOrReport<Server>(
  port: MessagePort,
  open: () => Promise<Server>,
): Promise<Server | undefined> {
  try {
    return await open();
  } catch (error) {
    const { code, message } = openFailureOf(error);
    post(port, { kind: "unfit", code, message });
    port.close();
    return undefined;
  }
}

function postFailure(port: MessagePort, id: number, error: unknown): void {
  const { code, message } = failureOf(error);
  post(port, { kind: "error", id, code, message });
}

function post(port: MessagePort, message: FromThread<unknown>): void {
  port.postMessage(message);
}
