import type { StoredMessage } from "./database.ts";
import { keyOf, type Message, newMessage, splitSummary } from "./message.ts";

export type TimelineItem =
  | { readonly kind: "message"; readonly message: Message; readonly session: string }
  /** Stands for the messages from one position to another. */
  | { readonly kind: "summary"; readonly from: number; readonly to: number; readonly text: string };

/** A copy may be shortened: then only its identity tells. */
function isSame(a: Message, b: Message): boolean {
  return keyOf(a) === keyOf(b) || (a.identity !== null && a.identity === b.identity);
}

interface LiveItem {
  /** Its position in the timeline; of a summary, what it stands for. */
  readonly at: number;
  readonly summary: { readonly from: number; readonly to: number } | null;
}

/**
 * One conversation out of the rows of its segments. A compaction wrote the first messages again, then a summary, then the
 * last messages again: the copies are recognised by comparing them with what the model had before, and left out.
 */
export class Timeline {
  readonly items: TimelineItem[] = [];
  /** What the model had at this point. */
  #live: LiveItem[] = [];
  /** Rows that were copies. */
  copies = 0;
  summaries = 0;

  /** The rows of one segment. */
  add(session: string, rows: readonly StoredMessage[], segment: "first" | "continuation"): void {
    const summaryAt = (from: number): number =>
      rows.findIndex(({ message }, index) => index >= from && message.summary);
    let at = 0;
    let next = summaryAt(0);
    if (segment === "continuation" && next === -1) at = this.#skipLooseCopies(rows, 0);
    while (next !== -1) {
      const head = this.#headCopies(rows, at, next, segment === "continuation" && at === 0);
      for (const row of rows.slice(at, next - head)) this.#say(session, row);
      this.copies += head;
      at = this.#compact(session, rows, next, head);
      next = summaryAt(at);
    }
    for (const row of rows.slice(at)) this.#say(session, row);
  }

  #say(session: string, { message, undone }: StoredMessage): void {
    this.items.push({
      kind: "message",
      session,
      message: { ...message, mark: this.items.length, undone: undone ? "undo" : null },
    });
    if (!undone) this.#live.push({ at: this.items.length - 1, summary: null });
  }

  #messageAt({ at, summary }: LiveItem): Message | null {
    const item = this.items[at];
    return summary === null && item?.kind === "message" ? item.message : null;
  }

  #isCopy(row: StoredMessage | undefined, live: LiveItem | undefined): boolean {
    if (row === undefined || live === undefined) return false;
    const message = this.#messageAt(live);
    return message !== null && isSame(message, row.message);
  }

  /** How many rows directly before the summary repeat the beginning of what the model had. */
  #headCopies(
    rows: readonly StoredMessage[],
    from: number,
    summary: number,
    isRotated: boolean,
  ): number {
    const most = summary - from;
    for (let count = most; count > 0; count -= 1) {
      // In place, the rows before the copies are said first, so the beginning may be among them.
      const start = summary - count;
      const beginning = isRotated || this.#live.length >= count ? this.#live : null;
      const isBeginning = (index: number): boolean => {
        if (beginning !== null) return this.#isCopy(rows[start + index], beginning[index]);
        const live = this.#live[index];
        if (live !== undefined) return this.#isCopy(rows[start + index], live);
        const original = rows[from + index - this.#live.length];
        const copy = rows[start + index];
        const isBefore = from + index - this.#live.length < start;
        return (
          isBefore &&
          original !== undefined &&
          copy !== undefined &&
          isSame(original.message, copy.message)
        );
      };
      if (Array.from({ length: count }, (_, index) => index).every(isBeginning)) return count;
    }
    return 0;
  }

  /** Takes the summary and the copies behind it. Returns the first row that is new. */
  #compact(session: string, rows: readonly StoredMessage[], at: number, head: number): number {
    const row = rows[at];
    if (row === undefined) return at;
    this.summaries += 1;
    const { summary, own } = splitSummary(row.message.text);
    const before = this.#live;
    // A summary that was merged into a message stands in its place.
    const first: StoredMessage[] =
      own.trim() === "" && row.message.calls.length === 0
        ? []
        : [{ ...row, message: newMessage({ ...row.message, text: own, summary: false }) }];
    const following = [...first, ...rows.slice(at + 1)];
    const tail = this.#tailCopies(following, before, head);
    const covered = before.slice(head, before.length - tail.live);
    const ends = covered.flatMap(({ at: position, summary: earlier }) =>
      earlier === null ? [position] : [earlier.from, earlier.to],
    );
    const kept = before.slice(before.length - tail.live);
    this.copies += tail.rows;
    for (const copy of following.slice(0, tail.rows)) this.#undoOriginal(copy, kept);
    const live = before.slice(0, head);
    if (ends.length > 0) {
      const from = Math.min(...ends);
      const to = Math.max(...ends);
      this.items.push({ kind: "summary", from, to, text: summary });
      live.push({ at: this.items.length - 1, summary: { from, to } });
    }
    this.#live = [...live, ...kept];
    if (first.length > 0 && tail.rows === 0) {
      const [said] = first;
      if (said !== undefined) this.#say(session, said);
    }
    return at + 1 + Math.max(0, tail.rows - first.length);
  }

  /** A copy that was taken back takes back what it is a copy of. */
  #undoOriginal(copy: StoredMessage, kept: readonly LiveItem[]): void {
    if (!copy.undone) return;
    const original = kept.find((live) => this.#isCopy(copy, live));
    const message = original && this.#messageAt(original);
    if (message != null) message.undone = "undo";
  }

  /** How many rows behind a summary repeat the end of what the model had before it. */
  #tailCopies(
    rows: readonly StoredMessage[],
    before: readonly LiveItem[],
    head: number,
  ): { readonly rows: number; readonly live: number } {
    const most = Math.min(rows.length, before.length - head);
    for (let count = most; count > 0; count -= 1) {
      const start = before.length - count;
      const isEnd = (index: number): boolean => this.#isCopy(rows[index], before[start + index]);
      if (Array.from({ length: count }, (_, index) => index).every(isEnd))
        return { rows: count, live: count };
    }
    // Something is missing from the copies: they still come in the order of what they repeat.
    let from = head;
    let count = 0;
    let first: number | null = null;
    for (const row of rows) {
      const found = before.findIndex((live, index) => index >= from && this.#isCopy(row, live));
      if (found === -1) break;
      first ??= found;
      from = found + 1;
      count += 1;
    }
    return { rows: count, live: first === null ? 0 : before.length - first };
  }

  /** A continuation without a summary: the beginning repeats what the model had, in its order. */
  #skipLooseCopies(rows: readonly StoredMessage[], at: number): number {
    if (!this.#isCopy(rows[at], this.#live[0])) return at;
    let from = 0;
    let index = at;
    for (; index < rows.length; index += 1) {
      const row = rows[index];
      const found = this.#live.findIndex(
        (live, position) => position >= from && this.#isCopy(row, live),
      );
      if (found === -1) break;
      from = found + 1;
    }
    this.copies += index - at;
    return index;
  }
}
