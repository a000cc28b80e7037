import {
  type EventData,
  type MessageId,
  type NewEvent,
  previewOf,
  type Seq,
  type SeqRange,
} from "@holdfast/protocol";
import type { DocumentEntry } from "./document.ts";
import type { VersionTree } from "./version-tree.ts";

type View = NonNullable<EventData<"history.cut">["before"]>;

/** `session.created` comes before the first of these events. */
const firstSeq = 2;

/**
 * The events of an import with several versions. Every version is said after the one that it replaces; then each of
 * them is shown once, in the order in which they were left, and last what is in view.
 */
export class ImportedViews {
  readonly events: NewEvent[] = [];
  readonly #tree: VersionTree;
  /** What the events of each segment's first entry span. */
  readonly #spans = new Map<number, SeqRange>();
  readonly #said = new Map<number, { readonly messageId: MessageId; readonly seq: Seq }>();
  #segmentStart = firstSeq;
  #view: View = { ranges: [{ from: 1 as Seq, to: null }], messageCount: 0, preview: "" };

  constructor(tree: VersionTree) {
    this.#tree = tree;
  }

  push(...events: readonly NewEvent[]): void {
    this.events.push(...events);
  }

  /** The newest event is this entry. */
  said(number: number, messageId: MessageId): void {
    this.#said.set(number, { messageId, seq: (this.#nextSeq - 1) as Seq });
  }

  endSegment([first = 0]: readonly number[]): void {
    const to = (this.#nextSeq - 1) as Seq;
    this.#spans.set(first, { from: this.#segmentStart as Seq, to });
    this.#segmentStart = this.#nextSeq;
  }

  /** The next message is another version of an earlier one. */
  replace(number: number, by: MessageId): EventData<"history.cut"> {
    const replaced = this.#said.get(number);
    if (replaced === undefined) throw new Error("A version is said after the one it replaces.");
    const before = this.#view;
    this.#segmentStart = this.#nextSeq + 1;
    const ranges = [{ from: this.#segmentStart as Seq, to: null }];
    this.#view = { ranges, messageCount: 0, preview: "" };
    return { ...this.#view, reason: "edit", before, replaces: { ...replaced, by } };
  }

  show(view: readonly number[]): EventData<"history.restored"> {
    const before = this.#view;
    const said = view.flatMap((number) => this.#tree.entries[number] ?? []).filter(isMessage);
    const open: SeqRange = { from: this.#nextSeq as Seq, to: null };
    this.#view = {
      ranges: [
        { from: 1 as Seq, to: 1 as Seq },
        ...view.flatMap((number) => this.#spans.get(number) ?? []),
        open,
      ],
      messageCount: said.length,
      preview: previewOf(textOfEntry(said.at(-1))),
    };
    return { ...this.#view, cause: "switch", before };
  }

  get #nextSeq(): number {
    return firstSeq + this.events.length;
  }
}

function isMessage(entry: DocumentEntry): boolean {
  return entry.type === "message" && entry.role !== "tool";
}

function textOfEntry(entry: DocumentEntry | undefined): string {
  if (entry?.type !== "message") return "";
  return entry.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n");
}
