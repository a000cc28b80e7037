interface QueueEntry {
  /** By the store's clock: when it came to be owed. */
  readonly pendingSince: number;
  readonly wake: () => void;
}

/**
 * Messages that are ready to go out, by chat. A chat may hear from several sessions, when its lane has moved while an answer
 * was on its way: the oldest goes first, also while it waits for another try.
 */
export class ChatQueue {
  readonly #chats = new Map<string, Map<string, QueueEntry>>();

  /** Whether it is this one's turn. If not, its bell rings when that may have changed. */
  join(chat: string, key: string, waiting: QueueEntry): boolean {
    const here = this.#chats.get(chat) ?? new Map<string, QueueEntry>();
    this.#chats.set(chat, here);
    here.set(key, waiting);
    return oldestOf(here) === key;
  }

  leave(chat: string, key: string): void {
    const here = this.#chats.get(chat);
    if (here?.delete(key) !== true) return;
    if (here.size === 0) this.#chats.delete(chat);
    const next = oldestOf(here);
    if (next !== undefined) here.get(next)?.wake();
  }
}

function oldestOf(here: ReadonlyMap<string, QueueEntry>): string | undefined {
  let first: string | undefined;
  let since = Number.POSITIVE_INFINITY;
  for (const [key, waiting] of here)
    if (waiting.pendingSince < since) [first, since] = [key, waiting.pendingSince];
  return first;
}
