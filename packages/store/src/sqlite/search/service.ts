import { isBusy } from "../errors.ts";
import { IndexFile, isDamage, type IndexStep, Indexer } from "./indexer.ts";
import { StoreUnreadable, StoreReader } from "./documents.ts";
import type { SearchQuery, SearchResult } from "@holdfast/engine";
import { backoffMs, type OwnerId } from "@holdfast/protocol";
import { connect } from "../connection.ts";
import type { ThreadServer } from "../threads/thread-server.ts";
import { HitFinder } from "./answer.ts";
import { TokenFrequencies } from "./match-plan.ts";

export type AttemptFailure =
  /** Another process holds the file; retry in a moment. */
  | { readonly status: "busy" }
  /** The index was damaged and has been deleted; the next attempt starts a new one. */
  | { readonly status: "rebuilt" }
  | { readonly status: "failed"; readonly message: string };

export type StepResult = IndexStep | AttemptFailure;

const maxRebuilds = 3;

/** Turns an error into a status, and deletes a damaged index. Never throws. */
export class IndexRecovery {
  readonly #file: IndexFile;
  #rebuilds = 0;

  constructor(file: IndexFile) {
    this.#file = file;
  }

  run<T>(action: () => T): T | AttemptFailure {
    try {
      const result = action();
      this.#rebuilds = 0;
      return result;
    } catch (error) {
      return this.afterError(error);
    }
  }

  afterError(error: unknown): AttemptFailure {
    if (isBusy(error) || (error instanceof StoreUnreadable && isBusy(error.cause)))
      return { status: "busy" };
    if (!isDamage(error)) {
      // Whatever it was, the next use reopens the file and checks it.
      this.#file.close();
      return failedAttempt(error);
    }
    this.#rebuilds += 1;
    // A disk that damages every new index isn't fixed by another one.
    if (this.#rebuilds > maxRebuilds) return failedAttempt(error);
    try {
      this.#file.discard();
      return { status: "rebuilt" };
    } catch (discardError) {
      return isBusy(discardError) ? { status: "busy" } : failedAttempt(discardError);
    }
  }
}

function failedAttempt(error: unknown): AttemptFailure {
  const message = error instanceof Error ? error.message : String(error);
  return { status: "failed", message: `The index cannot be used: ${message}` };
}

const failureBackoff = { firstMs: 1_000, longestMs: 60_000 };

/** Indexes between requests until nothing is left, pausing in between so that live work comes first. */
export class BackgroundIndexer {
  readonly #step: () => StepResult;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;
  #woken = false;
  #failures = 0;

  constructor(step: () => StepResult) {
    this.#step = step;
  }

  wake(): void {
    this.#woken = true;
    if (this.#timer === undefined) this.#schedule(0);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #schedule(ms: number): void {
    if (!this.#stopped) this.#timer = setTimeout(() => this.#run(), ms);
  }

  #run(): void {
    // A wake-up since the last step means that somebody is writing: leave them half of the time.
    const pauseRatio = this.#woken ? 1 : 0.25;
    this.#woken = false;
    const startedAt = performance.now();
    const { status } = this.#step();
    const tookMs = performance.now() - startedAt;
    this.#timer = undefined;
    if (status !== "failed") this.#failures = 0;
    switch (status) {
      case "current":
        return;
      case "more":
      case "rebuilt":
        return this.#schedule(tookMs * pauseRatio);
      case "busy":
        return this.#schedule(5 + Math.random() * 20);
      case "failed":
        this.#schedule(backoffMs(failureBackoff, this.#failures));
        this.#failures += 1;
    }
  }
}

/** Up to this many events are indexed before a search is answered, so that people find what they have just written. */
const maxCatchUpEvents = 64;

export type SearchRequest =
  | { readonly op: "search"; readonly owner: OwnerId; readonly query: SearchQuery }
  | { readonly op: "wake" }
  | { readonly op: "step" }
  | { readonly op: "rebuild" }
  | { readonly op: "close" };

/** Searches a store's file and keeps its index up to date. No problem with the index ever makes it throw. */
export class SearchService implements ThreadServer<SearchRequest> {
  readonly #store: StoreReader;
  readonly #file: IndexFile;
  readonly #indexer: Indexer;
  readonly #hitFinder: HitFinder;
  readonly #recovery: IndexRecovery;
  readonly #background: BackgroundIndexer;

  constructor(storeFile: string) {
    this.#store = new StoreReader(connect({ file: storeFile, access: "read" }));
    this.#file = new IndexFile(storeFile);
    this.#indexer = new Indexer(this.#store, this.#file);
    this.#hitFinder = new HitFinder(this.#store, new TokenFrequencies());
    this.#recovery = new IndexRecovery(this.#file);
    this.#background = new BackgroundIndexer(() => this.step());
  }

  handle(request: SearchRequest): unknown {
    switch (request.op) {
      case "search":
        return this.search(request.owner, request.query);
      case "wake":
        return this.wake();
      case "step":
        return this.step();
      case "rebuild":
        return this.rebuild();
      case "close":
        return undefined;
    }
  }

  /** A page of hits with a cursor. */
  search(owner: OwnerId, query: SearchQuery): SearchResult {
    const page = this.#recovery.run((): SearchResult => {
      const { status, pos, head } = this.#indexer.check();
      if (status === "more" && head - pos <= maxCatchUpEvents) this.#indexer.step();
      if (status === "more") this.wake();
      return this.#hitFinder.answer(this.#file.use(), owner, query);
    });
    switch (page.status) {
      case "ok":
      case "unavailable":
        return page;
      case "failed":
        return { status: "unavailable", message: page.message };
      case "busy":
      case "rebuilt":
        this.wake();
        return { status: "unavailable", message: "The index is being made again." };
    }
  }

  /** Indexes in the background until nothing is left. */
  wake(): void {
    this.#background.wake();
  }

  /** Indexes one batch. */
  step(): StepResult {
    return this.#recovery.run(() => this.#indexer.step());
  }

  /** Empties the index; steps fill it again. */
  rebuild(): StepResult {
    return this.#recovery.run(() => this.#indexer.restart());
  }

  close(): void {
    this.#background.stop();
    this.#file.close();
    this.#store.connection.close();
  }
}
