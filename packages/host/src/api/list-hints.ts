import type { Clock, Reads, SessionRow } from "@holdfast/engine";
import type { ListHint, OwnerId, SessionId } from "@holdfast/protocol";

import { viewSession } from "./views.ts";

export interface ListHints {
  /** Tells of rows of the owner's list that are new, changed or gone, until it is let go. */
  watch(owner: OwnerId, listener: (hint: ListHint) => void): () => void;
}

/** So many of the newest are looked at: what changes is at the top of the list, where it is seen. */
const watchedRows = 50;
const lookMs = 1_000;

/**
 * Looks at the top of an owner's list while somebody watches, once for all of them. The store is the truth, whichever process
 * wrote to it; a hint that is missed costs nothing, since who needs the list reads it.
 */
export function createListHints(reads: Reads, clock: Clock, closing: AbortSignal): ListHints {
  const looks = new Map<OwnerId, Look>();
  return {
    watch(owner, listener) {
      const look = looks.get(owner) ?? new Look(reads, clock, owner, closing);
      looks.set(owner, look);
      look.listeners.add(listener);
      return () => {
        look.listeners.delete(listener);
        if (look.listeners.size > 0) return;
        look.end();
        looks.delete(owner);
      };
    },
  };
}

class Look {
  readonly listeners = new Set<(hint: ListHint) => void>();
  readonly #over = new AbortController();
  readonly #reads: Reads;
  readonly #owner: OwnerId;

  constructor(reads: Reads, clock: Clock, owner: OwnerId, closing: AbortSignal) {
    this.#reads = reads;
    this.#owner = owner;
    void this.#go(clock, AbortSignal.any([closing, this.#over.signal]));
  }

  end(): void {
    this.#over.abort();
  }

  async #go(clock: Clock, over: AbortSignal): Promise<void> {
    let seen: ReadonlyMap<SessionId, string> | undefined;
    while (!over.aborted) {
      // A store that cannot be read has nothing to hint at; those who follow sessions are told of it.
      const rows = await this.#read().catch(() => undefined);
      if (rows !== undefined) {
        if (seen !== undefined) await this.#tell(seen, rows);
        seen = new Map(rows.map((row) => [row.id, signOf(row)]));
      }
      await clock.sleep(lookMs, over);
    }
  }

  async #read(): Promise<readonly SessionRow[]> {
    return (await this.#reads.sessions(this.#owner, { limit: watchedRows })).sessions;
  }

  async #tell(seen: ReadonlyMap<SessionId, string>, rows: readonly SessionRow[]): Promise<void> {
    const here = new Set(rows.map(({ id }) => id));
    for (const row of rows)
      if (seen.get(row.id) !== signOf(row))
        this.#say({ sessionId: row.id, session: viewSession(row) });
    const isFull = rows.length === watchedRows;
    for (const id of seen.keys()) {
      if (here.has(id)) continue;
      const row = await this.#reads.session(this.#owner, id).catch(() => undefined);
      // One that others have pushed further down has not changed.
      const isPushed = isFull && row != null && signOf(row) === seen.get(id);
      if (row !== undefined && !isPushed)
        this.#say({ sessionId: id, session: row && viewSession(row) });
    }
  }

  #say(hint: ListHint): void {
    for (const listener of this.listeners) listener(hint);
  }
}

/** What the list shows of a session. Output that streams changes none of it. */
function signOf(row: SessionRow): string {
  const { head: _, activityAt: __, openDeltas: ___, ranges: ____, ...shown } = row;
  return JSON.stringify(shown);
}
