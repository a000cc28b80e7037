import {
  type Search,
  type SearchHit,
  type SearchResult,
  StoreFailure,
} from "@holdfast/engine/ports";
import { sleep } from "@holdfast/protocol";

import { ThreadClient } from "../threads/thread-client.ts";
import type { SearchRequest, StepResult } from "./service.ts";

export interface SqliteSearch extends Search {
  /** Something was committed and may need indexing. Costs the committer next to nothing. */
  onCommit(): void;
  close(): Promise<void>;
}

const threadScript = new URL("../threads/search.ts", import.meta.url);

/**
 * Indexing waits for a pause in writes, but not forever: it shares their disk and cores. A store that is opened,
 * written to briefly and closed never starts the thread.
 */
const debounceMs = { first: 1_000, later: 250 };
const maxDelayMs = 2_000;
const maxLimit = 500;

/** Searches a store in a thread that starts on first use. */
export function openSearch(file: string): SqliteSearch {
  return new SearchClient(file);
}

class SearchClient implements SqliteSearch {
  readonly #file: string;
  #thread: ThreadClient<SearchRequest> | undefined;
  #wakeTimer: NodeJS.Timeout | undefined;
  /** Since when there has been a commit that the thread doesn't know about. */
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
    // The thread works for a few milliseconds at a time, so that no search blocks another one or the index.
    for (;;) {
      const remaining = {
        ...query,
        limit: limit - hits.length,
        ...(cursor !== undefined && { cursor }),
      };
      let page: SearchResult;
      try {
        page = (await this.#ask({ op: "search", owner, query: remaining })) as SearchResult;
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
    const delayMs = this.#thread === undefined ? debounceMs.first : debounceMs.later;
    if (now + delayMs > this.#behindSince + maxDelayMs && this.#wakeTimer !== undefined) return;
    clearTimeout(this.#wakeTimer);
    this.#wakeTimer = setTimeout(() => {
      this.#wakeTimer = undefined;
      this.#behindSince = undefined;
      // Whatever can't be indexed now is indexed at a later wake-up or by the next search.
      void this.#ask({ op: "wake" }).catch(() => {});
    }, delayMs).unref();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#wakeTimer);
    await this.#thread?.close({ op: "close" });
  }

  /** Helps indexing until everything is indexed that had been committed when the call began. */
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
      // The next request replaces a thread that has ended.
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
  return sleep(2 + Math.random() * 5);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
