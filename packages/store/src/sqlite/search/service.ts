import { isBusy } from "../errors.ts";
import { IndexFile, isDamage } from "./index-file.ts";
import { type IndexStep, Indexer } from "./indexer.ts";
import { StoreUnreadable, StoreReader } from "./store-reader.ts";
import type { SearchQuery, SearchResult } from "@holdfast/engine";
import type { OwnerId } from "@holdfast/protocol";
import { connect } from "../connection.ts";
import { HitFinder } from "./answer.ts";
import { TokenFrequencies } from "./match-plan.ts";

/** What is left of an attempt that threw. */
export type AttemptFailure =
  /** Someone else has the file; a moment later it will work. */
  | { readonly status: "busy" }
  /** The index was damaged and has been thrown away; the next attempt begins a new one. */
  | { readonly status: "mended" }
  | { readonly status: "failed"; readonly message: string };

export type StepResult = IndexStep | AttemptFailure;

const maxRebuilds = 3;

/** Decides what follows from an error, and throws a damaged index away. It never throws itself. */
export class IndexRecovery {
  readonly #file: IndexFile;
  #mends = 0;

  constructor(file: IndexFile) {
    this.#file = file;
  }

  run<T>(action: () => T): T | AttemptFailure {
    try {
      const result = action();
      this.#mends = 0;
      return result;
    } catch (error) {
      return this.afterError(error);
    }
  }

  afterError(error: unknown): AttemptFailure {
    if (isBusy(error) || (error instanceof StoreUnreadable && isBusy(error.cause)))
      return { status: "busy" };
    if (!isDamage(error)) {
      // Whatever it was, the next use opens the file again and looks whether it is what it should be.
      this.#file.close();
      return failedAttempt(error);
    }
    this.#mends += 1;
    // A disk that damages each new index is not mended by another one.
    if (this.#mends > maxRebuilds) return failedAttempt(error);
    try {
      this.#file.discard();
      return { status: "mended" };
    } catch (discarding) {
      return isBusy(discarding) ? { status: "busy" } : failedAttempt(discarding);
    }
  }
}

function failedAttempt(error: unknown): AttemptFailure {
  const message = error instanceof Error ? error.message : String(error);
  return { status: "failed", message: `The index cannot be used: ${message}` };
}

const firstBackoffMs = 1_000;
const maxBackoffMs = 60_000;

/** Indexes between requests until nothing is left, resting in between so that live work comes first. */
export class BackgroundIndexer {
  readonly #step: () => StepResult;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;
  #woken = false;
  #backoffMs = firstBackoffMs;

  constructor(step: () => StepResult) {
    this.#step = step;
  }

  wake(): void {
    this.#woken = true;
    if (this.#timer === undefined) this.#after(0);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #after(ms: number): void {
    if (!this.#stopped) this.#timer = setTimeout(() => this.#run(), ms);
  }

  #run(): void {
    // Woken since the last step: someone writes, and gets half of the time.
    const share = this.#woken ? 1 : 0.25;
    this.#woken = false;
    const startedAt = performance.now();
    const { status } = this.#step();
    const tookMs = performance.now() - startedAt;
    this.#timer = undefined;
    if (status !== "failed") this.#backoffMs = firstBackoffMs;
    switch (status) {
      case "current":
        return;
      case "more":
      case "mended":
        return this.#after(tookMs * share);
      case "busy":
        return this.#after(5 + Math.random() * 20);
      case "failed":
        this.#after(this.#backoffMs);
        this.#backoffMs = Math.min(this.#backoffMs * 2, maxBackoffMs);
    }
  }
}

/** So few events are indexed before a search is answered, so that one finds what one has just written. */
const maxCatchUpEvents = 64;

/** Searches a store's file and keeps its index up to date. Nothing here throws because of the index. */
export class SearchService {
  readonly #store: StoreReader;
  readonly #file: IndexFile;
  readonly #indexer: Indexer;
  readonly #answerer: HitFinder;
  readonly #mender: IndexRecovery;
  readonly #background: BackgroundIndexer;

  constructor(storeFile: string) {
    this.#store = new StoreReader(connect({ file: storeFile, access: "read" }));
    this.#file = new IndexFile(storeFile);
    this.#indexer = new Indexer(this.#store, this.#file);
    this.#answerer = new HitFinder(this.#store, new TokenFrequencies());
    this.#mender = new IndexRecovery(this.#file);
    this.#background = new BackgroundIndexer(() => this.step());
  }

  /** Some of the hits, and where to go on. */
  search(owner: OwnerId, query: SearchQuery): SearchResult {
    const page = this.#mender.run((): SearchResult => {
      const { status, pos, head } = this.#indexer.check();
      if (status === "more" && head - pos <= maxCatchUpEvents) this.#indexer.step();
      if (status === "more") this.wake();
      return this.#answerer.answer(this.#file.use(), owner, query);
    });
    switch (page.status) {
      case "ok":
      case "unavailable":
        return page;
      case "failed":
        return { status: "unavailable", message: page.message };
      case "busy":
      case "mended":
        this.wake();
        return { status: "unavailable", message: "The index is being made again." };
    }
  }

  /** Indexes in the background, until nothing is left. */
  wake(): void {
    this.#background.wake();
  }

  /** Indexes a little at once. */
  step(): StepResult {
    return this.#mender.run(() => this.#indexer.step());
  }

  /** Empties the index, to be filled again step by step. */
  rebuild(): StepResult {
    return this.#mender.run(() => this.#indexer.restart());
  }

  close(): void {
    this.#background.stop();
    this.#file.close();
    this.#store.connection.close();
  }
}
