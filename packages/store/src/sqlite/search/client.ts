import {
  type Search,
  type SearchHit,
  type SearchResult,
  StoreFailure,
} from "@holdfast/engine/ports";

import { ThreadClient } from "../threads/thread-client.ts";
import type { StepResult } from "./service.ts";
import type { SearchRequest } from "../threads/search.ts";

export interface SqliteSearch extends Search {
  /** Something was committed, so there may be something to index. Costs the one who commits next to nothing. */
  onCommit(): void;
  close(): Promise<void>;
}

const threadScript = new URL("../threads/search.ts", import.meta.url);

/**
 * The index follows when the writers pause, and after a while even if they do not: it shares their disk and their
 * cores. Nor is a thread started for a store that is opened, written to for a moment and closed.
 */
const quietMs = { first: 1_000, later: 250 };
const maxDelayMs = 2_000;
const maxLimit = 500;

/** The search of a store, in a thread of its own that is not there before it is needed. */
export function openSearch(file: string): SqliteSearch {
  return new SearchClient(file);
}

class SearchClient implements SqliteSearch {
  readonly #file: string;
  #thread: ThreadClient<SearchRequest> | undefined;
  #wake: NodeJS.Timeout | undefined;
  /** Since when there is something to index that nobody was told of. */
  #behindSince: number | undefined;
  #closed = false;

  constructor(file: string) {
    this.#file = file;
  }

  async search(
    owner: Parameters<Search["search"]>[0],
    query: Parameters<Search["search"]>[1],
  ): Promise<SearchResult> {
    const limit = Math.max(1, Math.min(Math.trunc(query.limit) || 1, maxLimit));
    const hits: SearchHit[] = [];
    let cursor = query.cursor;
    // The thread works for a few milliseconds at a time, so that no search holds up another or the index.
    for (;;) {
      const rest = {
        ...query,
        limit: limit - hits.length,
        ...(cursor !== undefined && { cursor }),
      };
      let page: SearchResult;
      try {
        page = (await this.#ask({ op: "search", owner, query: rest })) as SearchResult;
      } catch (error) {
        return { status: "unavailable", message: messageOf(error) };
      }
      if (page.status === "unavailable") return page;
      hits.push(...page.hits);
      if (page.next === null || hits.length === limit) return { ...page, hits };
      cursor = page.next;
    }
  }

  async settled(): Promise<void> {
    await this.#catchUp();
  }

  async rebuild(): Promise<void> {
    for (;;) {
      const { status } = (await this.#ask({ op: "rebuild" })) as StepResult;
      if (status !== "busy") break;
      await randomPause();
    }
    await this.#catchUp();
  }

  onCommit(): void {
    if (this.#closed) return;
    const now = performance.now();
    this.#behindSince ??= now;
    const pauseMs = this.#thread === undefined ? quietMs.first : quietMs.later;
    if (now + pauseMs > this.#behindSince + maxDelayMs && this.#wake !== undefined) return;
    clearTimeout(this.#wake);
    this.#wake = setTimeout(() => {
      this.#wake = undefined;
      this.#behindSince = undefined;
      // What cannot be indexed now is found and indexed by a later wake, or by the next search.
      void this.#ask({ op: "wake" }).catch(() => {});
    }, pauseMs).unref();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#wake);
    await this.#thread?.close({ op: "close" });
  }

  /** Takes part in the work until everything is indexed that was committed when it began. */
  async #catchUp(): Promise<void> {
    let target: number | undefined;
    for (;;) {
      const progress = (await this.#ask({ op: "step" })) as StepResult;
      if (progress.status === "failed")
        throw new StoreFailure("store_unavailable", progress.message);
      if ("head" in progress) {
        target ??= progress.head;
        if (progress.pos >= target) return;
      }
      if (progress.status === "busy") await randomPause();
    }
  }

  async #ask(request: SearchRequest): Promise<unknown> {
    if (this.#closed) throw new StoreFailure("store_closed", "The store was closed.");
    const thread = (this.#thread ??= new ThreadClient<SearchRequest>(threadScript, {
      file: this.#file,
    }));
    try {
      await thread.ready;
      return await thread.ask(request);
    } catch (error) {
      // A thread that has ended is replaced by the next request.
      if (error instanceof StoreFailure && error.code === "store_closed") this.#forget(thread);
      else if (!(error instanceof StoreFailure)) this.#forget(thread);
      throw error;
    }
  }

  #forget(thread: ThreadClient<SearchRequest>): void {
    if (this.#thread === thread && !this.#closed) this.#thread = undefined;
  }
}

function randomPause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 2 + Math.random() * 5));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
