import type { ImportedEntry, ImportedSession } from "./source.ts";

/** What has to be shown before an entry can be said: what ends with `show`, or a new version of `replaces`. */
export type Step =
  | { readonly kind: "show"; readonly show: number }
  | { readonly kind: "version"; readonly replaces: number; readonly show: number };

const start = -1;

/** Which entries follow which, in a session with versions. Entries are named by their positions. */
export class EntryTree {
  /** What the last entry that was said left in view ends with. */
  tip: number = start;
  /** What is in view in the end. */
  readonly shown: number;
  readonly #entries: readonly ImportedEntry[];
  readonly #parents: readonly number[];
  readonly #children = new Map<number, number[]>();

  private constructor({ entries, shown }: ImportedSession) {
    this.#entries = entries;
    this.#parents = parentsOf(entries);
    this.shown = shown ?? entries.findLastIndex(({ type }) => type !== "usage");
  }

  /** `null`: it has no versions. */
  static of(session: ImportedSession): EntryTree | null {
    const hasVersions = session.entries.some(
      (entry) => "after" in entry && entry.after !== undefined,
    );
    return hasVersions ? new EntryTree(session) : null;
  }

  /** From the first entry on. */
  path(last: number): number[] {
    const path: number[] = [];
    for (let at = last; at > start; at = this.#parents[at] ?? start) path.push(at);
    return path.toReversed();
  }

  /** Everything that was said so far directly after an entry. */
  followers(of: number): readonly number[] {
    return this.#children.get(of) ?? [];
  }

  stepsTo(index: number): readonly Step[] {
    const parent = this.#parents[index] ?? start;
    if (parent === this.tip) return [];
    const replaced = this.followers(parent).findLast((other) => this.#isTurn(other));
    if (replaced === undefined || !this.#isTurn(index)) return [{ kind: "show", show: parent }];
    const version = { kind: "version", replaces: replaced, show: parent } as const;
    // What is replaced can be chosen again as it was in view just before.
    if (this.path(this.tip).includes(replaced)) return [version];
    return [{ kind: "show", show: this.#newestBelow(replaced, index) }, version];
  }

  said(index: number): void {
    const parent = this.#parents[index] ?? start;
    this.#children.set(parent, [...this.followers(parent), index]);
    this.tip = index;
  }

  /** Of the entries before `end`. */
  #newestBelow(top: number, end: number): number {
    const below = new Set([top]);
    let newest = top;
    for (let at = top + 1; at < end; at += 1) {
      if (!below.has(this.#parents[at] ?? start)) continue;
      below.add(at);
      newest = at;
    }
    return newest;
  }

  #isTurn(index: number): boolean {
    const entry = this.#entries[index];
    return entry?.type === "message" && entry.role === "user";
  }
}

function parentsOf(entries: readonly ImportedEntry[]): readonly number[] {
  let last = start;
  return entries.map((entry, index) => {
    if (entry.type === "usage") return last;
    const given = "after" in entry ? entry.after : undefined;
    // An entry follows one before it, so that there are no circles.
    const parent = given !== undefined && given < index ? given : last;
    last = index;
    return parent;
  });
}

/** Of the entries of a session, those that are in view in the end. `null`: it has no versions. */
export function shownEntries(session: ImportedSession): ReadonlySet<number> | null {
  const tree = EntryTree.of(session);
  return tree === null ? null : new Set(tree.path(tree.shown));
}
