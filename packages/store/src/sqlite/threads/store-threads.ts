import { WakeSignal } from "./shared-memory.ts";
import type { Wake } from "../read/watchers.ts";
import type { ReaderOptions, ReaderRequest } from "./reader.ts";
import { ThreadClient } from "./thread-client.ts";
import { WriteCounter } from "./write-tally.ts";
import type { WriterOptions, WriterRequest } from "./writer.ts";

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
