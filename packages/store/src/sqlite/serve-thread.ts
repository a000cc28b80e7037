import { type MessagePort, parentPort, receiveMessageOnPort } from "node:worker_threads";

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
      port?.close();
    }
  }
  const inbox = new Inbox<ToThread<Request>>(port, answer);
  port.on("message", (message: ToThread<Request>) => inbox.receive(message));
  say({ kind: "ready" });
}

/** How long a thread looks out for the next message before it goes to sleep. */
const patienceMs = 0.3;

/**
 * Answers messages one after the other. Waking a thread costs more than most reads; so one that has just been asked
 * something looks out for a moment, and goes on doing so as long as that was worth it.
 */
class Inbox<Message> {
  readonly #port: MessagePort;
  readonly #answer: (message: Message) => Promise<void>;
  readonly #waiting: Message[] = [];
  #isBusy = false;
  #isLookingOut = false;
  #restedAt = 0;

  constructor(port: MessagePort, answer: (message: Message) => Promise<void>) {
    this.#port = port;
    this.#answer = answer;
  }

  receive(message: Message): void {
    this.#waiting.push(message);
    if (this.#isBusy) return;
    // Asked again so soon: looking out is going to be worth it.
    if (performance.now() - this.#restedAt < patienceMs) this.#isLookingOut = true;
    this.#isBusy = true;
    void this.#work();
  }

  async #work(): Promise<void> {
    for (;;) {
      const next = this.#waiting.shift() ?? this.#lookOut();
      if (next === undefined) break;
      await this.#answer(next);
    }
    this.#isBusy = false;
    this.#restedAt = performance.now();
  }

  #lookOut(): Message | undefined {
    if (!this.#isLookingOut) return undefined;
    const until = performance.now() + patienceMs;
    do {
      const found: { message: Message } | undefined = receiveMessageOnPort(this.#port);
      if (found !== undefined) return found.message;
    } while (performance.now() < until);
    this.#isLookingOut = false;
    return undefined;
  }
}
