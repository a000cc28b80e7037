import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { StoreFailure } from "@holdfast/engine/ports";
import { OpenFailure, type OpenFailureCode } from "../../shared/open-failure.ts";
import { WakeSignal, WriteCounter } from "./shared-memory.ts";
import type { Wake } from "../read/watch.ts";
import type { ReaderOptions, ReaderRequest } from "./reader.ts";
import type { WriterOptions, WriterRequest } from "./writer.ts";

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

export interface StoreThreadsDeps extends Omit<WriterOptions, "bell" | "tally"> {
  readonly probeModule: string | undefined;
  readonly onWake: (wake: Wake) => void;
  /** A thread that reads has died: what it watched nobody watches. */
  readonly onReaderLost: () => void;
}

const writerScript = new URL("./writer.ts", import.meta.url);
const readerScript = new URL("./reader.ts", import.meta.url);

/** The threads that write and read. One that has died is started again by what is asked of it next. */
export class StoreThreads {
  readonly #options: StoreThreadsDeps;
  readonly #tally = new WriteCounter();
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

  /** Whether there is one that could be told something. */
  get hasReader(): boolean {
    return this.#reader !== undefined && !this.#reader.hasEnded;
  }

  async close(): Promise<void> {
    await this.#reader?.close({ op: "close" });
    await this.#writer?.close({ op: "close" });
  }

  #startWriter(): ThreadClient<WriterRequest> {
    const { file, busyMs, checkpointPages, probeModule: preload } = this.#options;
    const bell = new WakeSignal();
    const shared = { bell: bell.buffer, tally: this.#tally.buffer };
    const given: WriterOptions = { file, busyMs, checkpointPages, ...shared };
    return new ThreadClient(writerScript, given, { preload, wakeSignal: bell });
  }

  #startReader(): ThreadClient<ReaderRequest, Wake> {
    const { file, onWake: onNote, onReaderLost: onLost } = this.#options;
    const given: ReaderOptions = { file, tally: this.#tally.buffer };
    return new ThreadClient(readerScript, given, { onNote, onLost });
  }
}
