import type { ImportedEntry, ImportedMessage, ImportedNotice, ImportedSummary } from "../source.ts";

export type Placed = ImportedMessage | ImportedNotice | ImportedSummary;

/** One message there, and what it becomes here: nothing, or several entries. */
export interface TranscriptNode {
  readonly id: string;
  /** `null`: it begins a conversation. */
  readonly parent: string | null;
  /** A message of the person: those that follow the same one are versions of each other. */
  readonly isPrompt: boolean;
  readonly entries: readonly Placed[];
}

export interface Replayed {
  readonly entries: readonly ImportedEntry[];
  readonly shown?: number;
}

const start = -1;

/**
 * Says the messages of a tree in the order in which they were written, so that a later export of the same tree begins with
 * the same entries. A version here begins with what the person said. So if an answer was given again, the question is said
 * again before it.
 */
export function replay(nodes: readonly TranscriptNode[], current: string | null): Replayed {
  return new Replay(nodes).run(current);
}

interface Place {
  /** The entry that it ends with. */
  readonly last: number;
  /** Of it and everything before it in its turn. */
  readonly turn: readonly TranscriptNode[];
  /** What its turn follows. */
  readonly turnAfter: number;
}

class Replay {
  readonly #nodes: ReadonlyMap<string, TranscriptNode>;
  readonly #entries: Placed[] = [];
  readonly #afters: number[] = [];
  readonly #places = new Map<string, Place>();
  /** Whether what was said after an entry are only turns. */
  readonly #followers = new Map<number, "turns" | "mixed">();
  #last: Place = { last: start, turn: [], turnAfter: start };
  #hasVersions = false;

  constructor(nodes: readonly TranscriptNode[]) {
    this.#nodes = new Map(nodes.map((node) => [node.id, node]));
  }

  run(current: string | null): Replayed {
    for (const node of inOrder(this.#nodes)) this.#say(node);
    this.#coverAll();
    const shown = current === null ? undefined : this.#places.get(current);
    const last = this.#entries.length - 1;
    if (!this.#hasVersions) return { entries: this.#entries };
    const entries = this.#entries.map((entry, index) => ({
      ...entry,
      after: this.#afters[index] ?? start,
    }));
    // What follows the newest message in view is in view as well.
    return { entries, shown: this.#endOf(shown?.last ?? last) };
  }

  /** A summary stands for everything before it. */
  #coverAll(): void {
    for (const [index, entry] of this.#entries.entries()) {
      if (entry.type !== "summary") continue;
      let from = index;
      let to = start;
      for (let at = this.#afters[index] ?? start; at > start; at = this.#afters[at] ?? start) {
        if (this.#entries[at]?.type === "summary") continue;
        from = at;
        to = Math.max(to, at);
      }
      this.#entries[index] = { ...entry, from, to };
    }
  }

  #endOf(from: number): number {
    let end = from;
    for (let at = from + 1; at < this.#afters.length; at += 1)
      if (this.#afters[at] === end) end = at;
    return end < 0 ? this.#entries.length - 1 : end;
  }

  #say(node: TranscriptNode): void {
    const parent = this.#parentOf(node);
    if (node.entries.length === 0) {
      this.#places.set(node.id, parent);
      return;
    }
    const followers = this.#followers.get(parent.last);
    const isFree = followers === undefined || (node.isPrompt && followers === "turns");
    const before = isFree ? parent : this.#sayAgain(parent);
    const turnAfter = node.isPrompt ? before.last : before.turnAfter;
    const turn = node.isPrompt ? [node] : [...before.turn, node];
    this.#place(node, { last: this.#add(node, before.last), turn, turnAfter });
  }

  /** A message whose parent isn't there follows what was said before it. */
  #parentOf({ parent }: TranscriptNode): Place {
    if (parent === null) return { last: start, turn: [], turnAfter: start };
    return this.#places.get(parent) ?? this.#last;
  }

  /** The turn so far as a new version, for another way that it went on. */
  #sayAgain({ turn, turnAfter, last }: Place): Place {
    // Nobody asked anything: there is nothing that could be another version.
    if (turn[0]?.isPrompt !== true)
      return this.#last.last === start ? { last, turn, turnAfter } : this.#last;
    let end = turnAfter;
    for (const node of turn) end = this.#add(node, end);
    return { last: end, turn, turnAfter };
  }

  #add({ entries, isPrompt }: TranscriptNode, after: number): number {
    let last = after;
    for (const [index, entry] of entries.entries()) {
      const isTurn = index === 0 && isPrompt;
      const known = this.#followers.get(last);
      if (known !== undefined) this.#hasVersions = true;
      this.#followers.set(last, isTurn && known !== "mixed" ? "turns" : "mixed");
      this.#entries.push(entry);
      this.#afters.push(last);
      last = this.#entries.length - 1;
    }
    return last;
  }

  #place(node: TranscriptNode, place: Place): void {
    this.#places.set(node.id, place);
    this.#last = place;
  }
}

/** Parents before their children, else as they were given. Of a circle, the first one counts as its beginning. */
function inOrder(nodes: ReadonlyMap<string, TranscriptNode>): readonly TranscriptNode[] {
  const ordered = new Set<TranscriptNode>();
  for (const node of nodes.values()) {
    const waiting: TranscriptNode[] = [];
    const seen = new Set<TranscriptNode>();
    for (
      let at: TranscriptNode | undefined = node;
      at !== undefined && !ordered.has(at) && !seen.has(at);
      at = at.parent === null ? undefined : nodes.get(at.parent)
    ) {
      seen.add(at);
      waiting.push(at);
    }
    for (const each of waiting.toReversed()) ordered.add(each);
  }
  return [...ordered];
}
