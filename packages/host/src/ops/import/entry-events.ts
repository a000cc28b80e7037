import { type EventId, type NewEvent, newEvent, type Seq, type SeqRange } from "@holdfast/protocol";

import type { DeriveId } from "./derive-id.ts";
import type { EntryTree } from "./entry-tree.ts";
import { isVisible } from "./proof.ts";
import type { EventMaker } from "./session-events.ts";
import type { SessionView } from "./session-view.ts";
import type { ImportedEntry } from "./source.ts";

const maxSummaryLength = 200_000;

const nowhere = -1 as Seq;

interface InView {
  readonly ranges: SeqRange[];
  readonly messageCount: number;
  readonly preview: string;
}

export interface EntryEventsDeps {
  readonly maker: EventMaker;
  readonly view: SessionView;
  readonly derive: DeriveId;
  /** Of the entries before, by their positions. */
  readonly seqs: readonly Seq[];
  readonly tree: EntryTree | null;
  /** The session's name in the source. */
  readonly key: string;
}

/** The events that a session's entries become, each as what is in view just before it requires. */
export class EntryEvents {
  readonly #deps: EntryEventsDeps;
  readonly #ids = new Map<number, EventId>();
  #epoch = 0;

  constructor(deps: EntryEventsDeps) {
    this.#deps = deps;
  }

  /** An entry that is stored already. */
  learn(entry: ImportedEntry, id: EventId, seq: Seq): void {
    const { view, maker, seqs } = this.#deps;
    if (entry.type === "message") {
      maker.learn(id, entry);
      const preview = entry.parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
      view.show(seq, entry, preview.join("\n").slice(0, 500));
    } else if (entry.type === "notice") view.show(seq, entry, "");
    else if (entry.type === "undo") view.hide(seqs[entry.from] ?? seq, seq);
    else if (entry.type === "summary") this.#learnSummary(entry, seq);
  }

  #learnSummary(entry: ImportedEntry, seq: Seq): void {
    this.#epoch += 1;
    if (this.#deps.tree !== null) this.#deps.view.show(seq, entry, "");
  }

  async make(
    entry: ImportedEntry,
    {
      id,
      seq,
      isChangedHere,
    }: { readonly id: EventId; readonly seq: Seq; readonly isChangedHere: boolean },
  ): Promise<NewEvent | null> {
    const { view, maker, seqs, derive, tree } = this.#deps;
    switch (entry.type) {
      case "message": {
        const { event, preview } = await maker.message(id, entry);
        view.show(seq, entry, preview);
        return event;
      }
      case "notice":
        view.show(seq, entry, "");
        return maker.notice(id, entry);
      case "undo": {
        const before = { ranges: [...view.ranges], ...view.counts() };
        const ranges = [...view.hide(seqs[entry.from] ?? seq, seq)];
        const { reason } = entry;
        return newEvent(id, "history.cut", { reason, ranges, ...view.counts(), before });
      }
      case "summary": {
        const from = seqs[entry.from];
        const to = seqs[entry.to];
        const isInView = view.has(from) && view.has(to) && !isChangedHere;
        if (tree !== null) view.show(seq, entry, "");
        // What it stands for was taken back: then it stands for nothing.
        if (from === undefined || to === undefined || !isInView) {
          return newEvent(id, "notice.added", {
            noticeId: derive("notice", id),
            kind: "old_summary",
            text: entry.text.slice(0, maxSummaryLength),
          });
        }
        this.#epoch += 1;
        return newEvent(id, "context.compacted", {
          epoch: this.#epoch,
          covers: { from, to },
          summary: entry.text.slice(0, maxSummaryLength),
          taint: [{ kind: "import" }],
        });
      }
      case "usage":
        return null;
    }
  }

  /** An entry with another one before it than the last: what has to be in view is shown first. */
  turnsTo(index: number, id: EventId, head: Seq): readonly NewEvent[] {
    const { tree, view, seqs, maker, derive, key } = this.#deps;
    const events: NewEvent[] = [];
    for (const step of tree?.stepsTo(index) ?? []) {
      const seq = (head + events.length + 1) as Seq;
      const before = { ranges: [...view.ranges], ...view.counts() };
      const ranges = [...this.#show(step.show, seq)];
      const after = { ranges, ...view.counts(), before };
      const name = derive("event", key, step.kind, id);
      if (step.kind === "show") {
        events.push(newEvent(name, "history.restored", { ...after, cause: "switch" }));
        continue;
      }
      const replaced = seqs[step.replaces] ?? seq;
      const replaces = {
        messageId: maker.messageId(this.#ids.get(step.replaces) ?? id),
        seq: replaced,
        by: maker.messageId(id),
      };
      events.push(newEvent(name, "history.cut", { ...after, reason: "edit", replaces }));
    }
    return events;
  }

  /** They stand directly before the entry's event. */
  learnTurns(index: number, id: EventId, seq: Seq): void {
    const steps = this.#deps.tree?.stepsTo(index).length ?? 0;
    this.turnsTo(index, id, (seq - 1 - steps) as Seq);
  }

  /** The entry has this event. */
  said(index: number, id: EventId): void {
    this.#ids.set(index, id);
    this.#deps.tree?.said(index);
  }

  /** Shows what ends with this entry, as it will be after the event `at`. */
  #show(last: number, at: Seq) {
    const { tree, view, seqs } = this.#deps;
    return view.showOnly(tree?.path(last).flatMap((index) => seqs[index] ?? []) ?? [], at);
  }

  /** Whether what is in view ends with this entry. */
  endsWith(ranges: readonly SeqRange[], last: number): boolean {
    const { tree, seqs } = this.#deps;
    const isInView = (index: number): boolean => isVisible(ranges, seqs[index] ?? nowhere);
    return isInView(last) && tree?.followers(last).some(isInView) !== true;
  }

  /** Shows what ends with this entry instead of what is in view. */
  showInstead(
    last: number,
    { head, before }: { readonly head: Seq; readonly before: InView },
  ): NewEvent {
    const { view, derive, key } = this.#deps;
    const seq = (head + 1) as Seq;
    const ranges = [...this.#show(last, seq)];
    const name = derive("event", key, "shown", `${seq}`, `${last}`);
    const after = { ranges, ...view.counts(), before: { ...before } };
    return newEvent(name, "history.restored", { ...after, cause: "switch" });
  }
}
