import type { SessionId } from "@holdfast/protocol";
import { setTimeout as wait } from "node:timers/promises";

import type { ReaderPool } from "./read/reader-pool.ts";
import { statement } from "./statement.ts";

const headsOf = statement(
  "poll_heads",
  `SELECT session_id, head FROM heads WHERE session_id = ANY($1)`,
);

interface PolledSession {
  watchers: number;
  /** Unknown at first: someone who began to watch is woken once, whatever the head is. */
  head: number | undefined;
}

/** Reads the heads of the sessions that are watched at one pace. Nobody watches: nothing is read. */
export class HeadPoller {
  readonly #readers: ReaderPool;
  readonly #everyMs: number;
  readonly #wake: (session: SessionId) => void;
  readonly #sessions = new Map<SessionId, PolledSession>();
  readonly #closed = new AbortController();
  #state: "idle" | "polling" = "idle";

  constructor(readers: ReaderPool, everyMs: number, wake: (session: SessionId) => void) {
    this.#readers = readers;
    this.#everyMs = everyMs;
    this.#wake = wake;
  }

  add(session: SessionId): () => void {
    const polled = this.#sessions.get(session) ?? { watchers: 0, head: undefined };
    polled.watchers += 1;
    polled.head = undefined;
    this.#sessions.set(session, polled);
    if (this.#state === "idle") void this.#poll();
    let watching = true;
    return () => {
      if (watching) polled.watchers -= 1;
      watching = false;
      if (polled.watchers === 0 && this.#sessions.get(session) === polled) {
        this.#sessions.delete(session);
      }
    };
  }

  close(): void {
    this.#closed.abort();
    this.#sessions.clear();
  }

  async #poll(): Promise<void> {
    const { signal } = this.#closed;
    this.#state = "polling";
    while (this.#sessions.size > 0 && !signal.aborted) {
      await wait(this.#everyMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      // While the database cannot be read there is nothing to say; the heads will tell when it can.
      await this.#compare().catch(() => undefined);
    }
    this.#state = "idle";
  }

  async #compare(): Promise<void> {
    const rows = await this.#readers.rows(headsOf, [[...this.#sessions.keys()]]);
    const now = new Map(rows.map((row) => [row["session_id"], Number(row["head"])]));
    for (const [session, polled] of this.#sessions) {
      const head = now.get(session) ?? -1;
      if (head === polled.head) continue;
      polled.head = head;
      this.#wake(session);
    }
  }
}
