import { once } from "node:events";
import { Worker } from "node:worker_threads";

import { StoreFailure } from "@holdfast/engine/ports";

import { OpenFailure, type OpenFailureCode } from "../../shared/open-failure.ts";
import type { WakeSignal } from "./shared-memory.ts";

/** What a thread says. `reply` answers one request; `note` is said unasked. */
export type FromThread<Note> =
  | { readonly kind: "ready" }
  | { readonly kind: "unfit"; readonly code: OpenFailureCode; readonly message: string }
  | { readonly kind: "reply"; readonly id: number; readonly value: unknown }
  | {
      readonly kind: "error";
      readonly id: number;
      readonly code: StoreFailure["code"];
      readonly message: string;
    }
  | { readonly kind: "note"; readonly note: Note };

export interface ToThread<Request> {
  readonly id: number;
  readonly request: Request;
}

interface PendingRequest {
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: Error) => void;
}

export interface ThreadClientDeps<Note> {
  readonly onNote?: (note: Note) => void;
  /** A module that the thread loads before its own. */
  readonly preload?: string | undefined;
  /** For a thread that waits for it instead of having an event loop. */
  readonly wakeSignal?: WakeSignal;
  /** It has ended, and nobody had asked it to. */
  readonly onLost?: () => void;
}

/** What passes through a storage thread is soon forgotten, and V8 would keep up to 134 MB of room for it. */
const threadResourceLimits = { maxYoungGenerationSizeMb: 12 };

/** Our end of a worker thread: requests with replies, and notes. A thread that dies rejects what was asked of it. */
export class ThreadClient<Request, Note = never> {
  readonly #worker: Worker;
  readonly #pending = new Map<number, PendingRequest>();
  readonly #onNote: (note: Note) => void;
  readonly #bell: WakeSignal | undefined;
  readonly #onLost: () => void;
  readonly #ready = Promise.withResolvers<void>();
  #next = 1;
  #ended: string | undefined;
  #isClosing = false;

  constructor(
    script: URL,
    workerData: unknown,
    {
      onNote = () => {},
      onLost = () => {},
      preload,
      wakeSignal: bell,
    }: ThreadClientDeps<Note> = {},
  ) {
    this.#onNote = onNote;
    this.#bell = bell;
    this.#onLost = onLost;
    const execArgv = preload === undefined ? [] : ["--import", preload];
    this.#worker = new Worker(script, {
      workerData,
      execArgv,
      resourceLimits: threadResourceLimits,
    });
    this.#worker.on("message", (message: FromThread<Note>) => this.#receive(message));
    this.#worker.on("error", (error) => this.#end(`The storage thread failed: ${error.message}`));
    this.#worker.on("exit", () => this.#end("The storage thread has ended."));
    // Whoever opens the store waits for `ready`; a thread that fails later is seen by its next request.
    this.#ready.promise.catch(() => {});
  }

  /** Resolves when the thread can work, rejects with an `OpenFailure` when it never will. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  get hasEnded(): boolean {
    return this.#ended !== undefined;
  }

  ask(request: Request): Promise<unknown> {
    if (this.#ended !== undefined)
      return Promise.reject(new StoreFailure("store_closed", this.#ended));
    const id = this.#next++;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#pending.set(id, { resolve, reject });
    const message: ToThread<Request> = { id, request };
    try {
      this.#worker.postMessage(message, []);
      this.#bell?.notify();
    } catch (error) {
      this.#pending.delete(id);
      reject(error instanceof Error ? error : new Error(String(error)));
    }
    return promise;
  }

  /** Asks the thread to put its things away; waits until it has ended. */
  async close(request: Request): Promise<void> {
    if (this.#ended !== undefined) return;
    this.#isClosing = true;
    const exited = once(this.#worker, "exit");
    void this.ask(request).catch(() => {});
    await exited;
  }

  #receive(message: FromThread<Note>): void {
    switch (message.kind) {
      case "ready":
        this.#ready.resolve();
        return;
      case "unfit":
        this.#ready.reject(new OpenFailure(message.code, message.message));
        return;
      case "note":
        this.#onNote(message.note);
        return;
      case "reply":
        this.#take(message.id)?.resolve(message.value);
        return;
      case "error":
        this.#take(message.id)?.reject(new StoreFailure(message.code, message.message));
    }
  }

  #take(id: number): PendingRequest | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    return pending;
  }

  #end(reason: string): void {
    if (this.#ended !== undefined) return;
    this.#ended = reason;
    this.#ready.reject(new OpenFailure("store_unavailable", reason));
    for (const { reject } of this.#pending.values())
      reject(new StoreFailure("store_closed", reason));
    this.#pending.clear();
    if (!this.#isClosing) this.#onLost();
  }
}
