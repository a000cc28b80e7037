import { type Clock, type Reads, type SessionRow, viewSession } from "@holdfast/engine";
import {
  encodeListSseFrame,
  type ListHint,
  type OwnerId,
  type SessionId,
} from "@holdfast/protocol";

export interface ListHints {
  /** Hands over frames that tell of rows of the owner's list that are new, changed or gone, until it is let go. */
  watch(owner: OwnerId, listener: (frames: string) => void): () => void;
}

/** So many of the newest are looked at: what changes is at the top of the list, where it is seen. */
const watchedRows = 50;
const pollMs = 1_000;

/**
 * Looks at the top of an owner's list while somebody watches, once for all of them. The store is the truth, whichever process
 * wrote to it; a hint that is missed costs nothing, since who needs the list reads it.
 */
export function createListHints(reads: Reads, clock: Clock, closing: AbortSignal): ListHints {
  const looks = new Map<OwnerId, SessionListPoller>();
  return {
    watch(owner, listener) {
      const look = looks.get(owner) ?? new SessionListPoller(reads, clock, owner, closing);
      looks.set(owner, look);
      look.listeners.add(listener);
      return () => {
        look.listeners.delete(listener);
        if (look.listeners.size > 0) return;
        look.stop();
        looks.delete(owner);
      };
    },
  };
}

class SessionListPoller {
  readonly listeners = new Set<(frames: string) => void>();
  readonly #over = new AbortController();
  readonly #reads: Reads;
  readonly #owner: OwnerId;

  constructor(reads: Reads, clock: Clock, owner: OwnerId, closing: AbortSignal) {
    this.#reads = reads;
    this.#owner = owner;
    void this.#go(clock, AbortSignal.any([closing, this.#over.signal]));
  }

  stop(): void {
    this.#over.abort();
  }

  async #go(clock: Clock, over: AbortSignal): Promise<void> {
    let seen: ReadonlyMap<SessionId, string> | undefined;
    while (!over.aborted) {
      // A store that cannot be read has nothing to hint at; those who follow sessions are told of it.
      const rows = await this.#read().catch(() => undefined);
      if (rows !== undefined) {
        if (seen !== undefined) this.#say(await this.#changes(seen, rows));
        seen = new Map(rows.map((row) => [row.id, rowFingerprint(row)]));
      }
      await clock.sleep(pollMs, over);
    }
  }

  async #read(): Promise<readonly SessionRow[]> {
    return (await this.#reads.sessions(this.#owner, { limit: watchedRows })).sessions;
  }

  async #changes(
    seen: ReadonlyMap<SessionId, string>,
    rows: readonly SessionRow[],
  ): Promise<ListHint[]> {
    const here = new Set(rows.map(({ id }) => id));
    const hints: ListHint[] = rows
      .filter((row) => seen.get(row.id) !== rowFingerprint(row))
      .map((row) => ({ sessionId: row.id, session: viewSession(row) }));
    const isFull = rows.length === watchedRows;
    for (const id of seen.keys()) {
      if (here.has(id)) continue;
      const row = await this.#reads.session(this.#owner, id).catch(() => undefined);
      // One that others have pushed further down has not changed.
      const isPushed = isFull && row != null && rowFingerprint(row) === seen.get(id);
      if (row !== undefined && !isPushed)
        hints.push({ sessionId: id, session: row && viewSession(row) });
    }
    return hints;
  }

  /** Written once, however many listen. */
  #say(hints: readonly ListHint[]): void {
    if (hints.length === 0) return;
    const frames = hints.map(encodeListSseFrame).join("");
    for (const listener of this.listeners) listener(frames);
  }
}

/** What the list shows of a session. Output that streams changes none of it. */
function rowFingerprint(row: SessionRow): string {
  const { head: _, activityAt: __, openDeltas: ___, ranges: ____, ...shown } = row;
  return JSON.stringify(shown);
}
