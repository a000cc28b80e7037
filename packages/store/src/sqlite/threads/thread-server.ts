import { type MessagePort, parentPort, receiveMessageOnPort } from "node:worker_threads";
import { failureOf, openFailureOf } from "../errors.ts";
import type { FromThread, ToThread } from "./thread-client.ts";

export interface ThreadServer<Request> {
  handle(request: Request): unknown;
  /**
   * Work that no caller should wait for: runs after the reply was posted. Returns whether more is left for an idle
   * moment.
   */
  afterReply?(): "done" | "when idle";
  /** The rest of that work, once no request has come for a moment. */
  whenIdle?(): void;
  /** Releases what the thread holds, so that it can exit. */
  close(): void;
}

/** The thread's end: opens, reports success or failure, then answers requests in order. */
export async function serveThread<Request extends { readonly op: string }, Note>(
  open: (note: (note: Note) => void) => Promise<ThreadServer<Request>>,
): Promise<void> {
  const port = requireParentPort();
  const server = await openOrReport(port, () => open((note) => post(port, { kind: "note", note })));
  if (server === undefined) return;
  let previous = Promise.resolve();
  port.on("message", (message: ToThread<Request>) => {
    previous = previous.then(() => answerRequest(port, server, message));
  });
  post(port, { kind: "ready" });
}

/** The same for a thread without an event loop: it answers synchronously and blocks until the next wake signal. */
export async function serveBlockingThread<Request extends { readonly op: string }>(
  wakeSignal: WakeSignal,
  open: () => Promise<ThreadServer<Request>>,
): Promise<void> {
  const port = requireParentPort();
  const server = await openOrReport(port, open);
  if (server === undefined) return;
  post(port, { kind: "ready" });
  let remaining: "done" | "when idle" = "done";
  for (;;) {
    if (remaining === "when idle" && wakeSignal.isIdleFor(idleAfterMs)) {
      server.whenIdle?.();
      remaining = "done";
    }
    // A signal may be for a request that was already answered: then there is nothing to receive, and the thread isn't
    // idle yet.
    wakeSignal.wait();
    for (
      let next = receiveRequest<Request>(port);
      next !== undefined;
      next = receiveRequest<Request>(port)
    ) {
      const { id, request } = next;
      try {
        post(port, { kind: "reply", id, value: server.handle(request) });
      } catch (error) {
        postFailure(port, id, error);
      }
      remaining = server.afterReply?.() ?? "done";
      if (request.op !== "close") continue;
      server.close();
      port.close();
      return;
    }
  }
}

/** Dependent requests follow each other faster than this. */
const idleAfterMs = 5;

async function answerRequest<Request extends { readonly op: string }>(
  port: MessagePort,
  server: ThreadServer<Request>,
  { id, request }: ToThread<Request>,
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
function receiveRequest<Request>(port: MessagePort): ToThread<Request> | undefined {
  return receiveMessageOnPort(port)?.message as ToThread<Request> | undefined;
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

/**
 * Wakes a thread that only waits for work. Blocked in `Atomics.wait`, it resumes twice as fast as through its event
 * loop, and nothing else can run in between.
 */
export class WakeSignal {
  readonly buffer: SharedArrayBuffer;
  readonly #count: Int32Array;
  #lastSeen = 0;

  constructor(buffer = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.buffer = buffer;
    this.#count = new Int32Array(buffer);
  }

  /** Call after the message was posted to the other thread. */
  notify(): void {
    Atomics.add(this.#count, 0, 1);
    Atomics.notify(this.#count, 0);
  }

  /** Blocks until there was a notification since the last wait; returns at once if there was. */
  wait(): void {
    Atomics.wait(this.#count, 0, this.#lastSeen);
    this.#lastSeen = Atomics.load(this.#count, 0);
  }

  /** Blocks for up to `ms` and returns whether no notification came. One that did is still there for `wait`. */
  isIdleFor(ms: number): boolean {
    return Atomics.wait(this.#count, 0, this.#lastSeen, ms) === "timed-out";
  }
}
