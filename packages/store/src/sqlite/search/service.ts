import type { SearchQuery, SearchResult } from "@holdfast/engine";
import type { OwnerId } from "@holdfast/protocol";

import { connect } from "../connection.ts";
import { HitFinder } from "./answer.ts";
import { BackgroundIndexer } from "./background.ts";
import { TokenFrequencies } from "./match-plan.ts";
import { IndexFile } from "./index-file.ts";
import { Indexer } from "./indexer.ts";
import { IndexRecovery, type StepResult } from "./mender.ts";
import { StoreReader } from "./store-reader.ts";

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
