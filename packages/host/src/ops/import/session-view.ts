import type { Reads } from "@holdfast/engine";
import {
  clipRanges,
  type OwnerId,
  type Seq,
  type SeqRange,
  type SessionId,
} from "@holdfast/protocol";

import { textOfData } from "./entry-text.ts";
import type { ImportedEntry } from "./source.ts";

interface VisibleEntry {
  readonly seq: Seq;
  readonly isMessage: boolean;
  readonly preview: string;
}

/** Where a branch leaves another session's log. */
export interface SessionOrigin {
  readonly sessionId: SessionId;
  readonly seq: Seq;
}

interface Counted {
  readonly messageCount: number;
  readonly preview: string;
}

/** `session.created`. */
const firstSeq = 1 as Seq;

/** What is in view of a session while its entries are gone through, as cuts have to say it. */
export class SessionView {
  ranges: readonly SeqRange[] = [];
  /** Of the entries that another session has. */
  shared: Counted = { messageCount: 0, preview: "" };
  #visible: VisibleEntry[] = [];
  readonly #all = new Map<Seq, VisibleEntry>();
  #start = 0 as Seq;

  /** Its own log begins behind this. */
  begin(start: Seq): void {
    this.#start = start;
    this.ranges = [...this.ranges, { from: (start + 1) as Seq, to: null }];
  }

  show(seq: Seq, entry: ImportedEntry, preview: string): void {
    const isMessage = entry.type === "message" && entry.role !== "tool";
    const shown = { seq, isMessage, preview };
    this.#visible.push(shown);
    this.#all.set(seq, shown);
  }

  has(seq: Seq | undefined): boolean {
    return this.#visible.some((visible) => visible.seq === seq);
  }

  /** Hides what is there from `first` on, by the event `at`. */
  hide(first: Seq, at: Seq): readonly SeqRange[] {
    while ((this.#visible.at(-1)?.seq ?? -1) >= first) this.#visible.pop();
    const keep = this.#visible.at(-1)?.seq ?? this.#start;
    this.ranges = [...clipRanges(this.ranges, keep), { from: (at + 1) as Seq, to: null }];
    return this.ranges;
  }

  /** Shows these entries and what follows the event `at`. */
  showOnly(seqs: readonly Seq[], at: Seq): readonly SeqRange[] {
    this.#visible = seqs.flatMap((seq) => this.#all.get(seq) ?? []);
    const ranges: SeqRange[] = [{ from: firstSeq, to: firstSeq }];
    for (const seq of seqs) {
      const last = ranges.at(-1);
      if (last !== undefined && last.to === seq - 1)
        ranges[ranges.length - 1] = { ...last, to: seq };
      else ranges.push({ from: seq, to: seq });
    }
    this.ranges = [...ranges, { from: (at + 1) as Seq, to: null }];
    return this.ranges;
  }

  counts(): Counted {
    const messages = this.#visible.filter(({ isMessage }) => isMessage);
    const preview = messages.at(-1)?.preview ?? this.shared.preview;
    return { messageCount: messages.length + this.shared.messageCount, preview };
  }
}

const pageSize = 200;

/** The messages in view of a session up to an entry, for a branch that begins with them. */
export async function countMessages(
  reads: Pick<Reads, "entries">,
  owner: OwnerId,
  session: SessionId,
  upTo: Seq,
): Promise<Counted> {
  let messageCount = 0;
  let preview = "";
  for (let before: Seq | undefined = (upTo + 1) as Seq; before !== undefined;) {
    const page = await reads.entries(owner, session, { before, limit: pageSize });
    const entries = page?.entries ?? [];
    for (const entry of entries.toReversed()) {
      if (entry.type !== "message.user" && entry.type !== "message.assistant") continue;
      messageCount += 1;
      if (messageCount === 1) preview = textOfData(entry.data["parts"]);
    }
    before = page?.more === true ? entries[0]?.seq : undefined;
  }
  return { messageCount, preview };
}
