import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { StoreFailure } from "@holdfast/engine/ports";
import { OpenFailure, type OpenFailureCode } from "../../shared/open-failure.ts";
import { WakeSignal } from "./thread-server.ts";
import { type Wake, WriteCounter } from "../read/watch.ts";
import type { ReaderRequest } from "../read/queries.ts";
import type { WriterRequest } from "../write/group-writer.ts";
import type { ReaderOptions } from "./reader.ts";
import type { WriterOptions } from "./writer.ts";

/** Messages from a thread. `reply` answers a request; a `note` is unsolicited. */
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
  /** For a thread that blocks on it instead of running an event loop. */
  readonly wakeSignal?: WakeSignal;
  /** The thread has ended without being asked to. */
  readonly onLost?: () => void;
}

/** Objects in a storage thread are short-lived, and V8 would reserve up to 134 MB for them. */
const threadResourceLimits = { maxYoungGenerationSizeMb: 12 };

/**
 * The parent's end of a worker thread: requests with replies, and notes. When the thread dies, pending requests
 * reject.
 */
export class ThreadClient<Request, Note = never> {
  readonly #worker: Worker;
  readonly #pending = new Map<number, PendingRequest>();
  readonly #onNote: (note: Note) => void;
  readonly #wakeSignal: WakeSignal | undefined;
  readonly #onLost: () => void;
  readonly #ready = Promise.withResolvers<void>();
  #nextId = 1;
  #ended: string | undefined;
  #isClosing = false;

  constructor(
    script: URL,
    workerData: unknown,
    { onNote = () => {}, onLost = () => {}, preload, wakeSignal }: ThreadClientDeps<Note> = {},
  ) {
    this.#onNote = onNote;
    this.#wakeSignal = wakeSignal;
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
    // Whoever opens the store awaits `ready`; a later failure shows at the next request.
    this.#ready.promise.catch(() => {});
  }

  /** Resolves when the thread is ready, rejects with an `OpenFailure` when it can't be. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  get hasEnded(): boolean {
    return this.#ended !== undefined;
  }

  ask(request: Request): Promise<unknown> {
    if (this.#ended !== undefined)
      return Promise.reject(new StoreFailure("store_closed", this.#ended));
    const id = this.#nextId++;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#pending.set(id, { resolve, reject });
    const message: ToThread<Request> = { id, request };
    try {
      this.#worker.postMessage(message, []);
      this.#wakeSignal?.notify();
    } catch (error) {
      this.#pending.delete(id);
      reject(error instanceof Error ? error : new Error(String(error)));
    }
    return promise;
  }

  /** Asks the thread to clean up, and waits until it has ended. */
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

export interface StoreThreadsDeps extends Omit<WriterOptions, "wakeSignal" | "writeCounter"> {
  readonly probeModule: string | undefined;
  readonly onWake: (wake: Wake) => void;
  /** The reader thread has died, and its watches with it. */
  readonly onReaderLost: () => void;
}

const writerScript = new URL("./writer.ts", import.meta.url);
const readerScript = new URL("./reader.ts", import.meta.url);

/** The writer and reader threads. A dead thread is restarted by the next request. */
export class StoreThreads {
  readonly #options: StoreThreadsDeps;
  readonly #writeCounter = new WriteCounter();
  #writer: ThreadClient<WriterRequest> | undefined;
  #reader: ThreadClient<ReaderRequest, Wake> | undefined;

  constructor(options: StoreThreadsDeps) {
    this.#options = options;
  }

  get writer(): ThreadClient<WriterRequest> {
    if (this.#writer === undefined || this.#writer.hasEnded) this.#writer = this.#startWriter();
    return this.#writer;
  }

  get reader(): ThreadClient<ReaderRequest, Wake> {
    if (this.#reader === undefined || this.#reader.hasEnded) this.#reader = this.#startReader();
    return this.#reader;
  }

  get hasReader(): boolean {
    return this.#reader !== undefined && !this.#reader.hasEnded;
  }

  async close(): Promise<void> {
    await this.#reader?.close({ op: "close" });
    await this.#writer?.close({ op: "close" });
  }

  #startWriter(): ThreadClient<WriterRequest> {
    const { file, busyMs, checkpointPages, probeModule: preload } = this.#options;
    const wakeSignal = new WakeSignal();
    const shared = { wakeSignal: wakeSignal.buffer, writeCounter: this.#writeCounter.buffer };
    const workerData: WriterOptions = { file, busyMs, checkpointPages, ...shared };
    return new ThreadClient(writerScript, workerData, { preload, wakeSignal });
  }

  #startReader(): ThreadClient<ReaderRequest, Wake> {
    const { file, onWake: onNote, onReaderLost: onLost } = this.#options;
    const workerData: ReaderOptions = { file, writeCounter: this.#writeCounter.buffer };
    return new ThreadClient(readerScript, workerData, { onNote, onLost });
  }
}
