import type { DocumentAlternatives, DocumentEntry, FieldError } from "./document.ts";

/** The entries of a document with all versions. An entry follows the same one in each view that shows it. */
export interface VersionTree {
  /** By their numbers. */
  readonly entries: readonly DocumentEntry[];
  /** What is in view. */
  readonly inView: readonly number[];
  /** What is in view with each other version. The one that was left last comes last. */
  readonly views: readonly (readonly number[])[];
  /** All entries, in an order in which they can be said. */
  readonly segments: readonly Segment[];
}

/** Entries that follow each other in every view that shows one of them. */
export interface Segment {
  readonly numbers: readonly number[];
  /** The version before the one that it begins with. */
  readonly replaces: number | null;
}

type Checked = VersionTree | { readonly errors: readonly FieldError[] };

const root = -1;

/** Refuses what no conversation could have become, and an entry that no view shows. */
export function readVersionTree(
  shown: readonly DocumentEntry[],
  hidden: readonly DocumentEntry[],
  { turns, views: runs }: DocumentAlternatives,
): Checked {
  const entries = [...shown, ...hidden];
  const refuse = (path: string, message: string): Checked => ({
    errors: [{ path: `alternatives.${path}`, message }],
  });
  const versionBefore = new Map<number, number | null>();
  for (const [index, turn] of turns.entries())
    for (const [at, number] of turn.entries()) {
      const entry = entries[number];
      if (entry?.type !== "message" || entry.role !== "user" || versionBefore.has(number))
        return refuse(`turns.${index}`, "expected messages of a person, each in one turn");
      versionBefore.set(number, turn[at - 1] ?? null);
    }
  const inView = shown.keys().toArray();
  const views: number[][] = [];
  for (const [index, view] of runs.entries()) {
    // Checked before they are counted out: a run may claim to be of any length.
    if (view.some(([from, to]) => from > to || to >= entries.length))
      return refuse(`views.${index}`, "expected numbers of entries");
    const length = view.reduce((sum, [from, to]) => sum + to - from + 1, 0);
    if (length > entries.length) return refuse(`views.${index}`, "expected each entry once");
    views.push(view.flatMap(([from, to]) => rangeOf(from, to)));
  }
  const before = new Map<number, number>();
  for (const [index, view] of [inView, ...views].entries()) {
    let last = root;
    for (const number of view) {
      if ((before.get(number) ?? last) !== last || number === last)
        return refuse(
          `views.${index - 1}`,
          "expected an entry to follow the same one in each view",
        );
      before.set(number, last);
      last = number;
    }
  }
  if (before.size !== entries.length) return refuse("views", "expected every hidden entry in one");
  const segments = orderSegments(before, versionBefore);
  if (segments === null) return refuse("turns", "expected a version to follow none of its turn");
  return { entries, inView, views, segments };
}

function rangeOf(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, at) => from + at);
}

/** An entry comes after the one that it follows, and a version after the one before it. `null`: there is no such order. */
function orderSegments(
  before: ReadonlyMap<number, number>,
  versionBefore: ReadonlyMap<number, number | null>,
): readonly Segment[] | null {
  const next = Map.groupBy(before.keys(), (number) => before.get(number) ?? root);
  const segments: Segment[] = [];
  const said = new Set<number>();
  let waiting = next.get(root) ?? [];
  while (waiting.length > 0) {
    const start = waiting.find((number) => {
      const previous = versionBefore.get(number) ?? null;
      return previous === null || said.has(previous);
    });
    if (start === undefined) return null;
    waiting = waiting.filter((number) => number !== start);
    const numbers = [start];
    let followers = next.get(start) ?? [];
    for (;;) {
      const [only] = followers;
      if (only === undefined || followers.length > 1 || versionBefore.has(only)) break;
      numbers.push(only);
      followers = next.get(only) ?? [];
    }
    for (const number of numbers) said.add(number);
    waiting = [...waiting, ...followers];
    segments.push({ numbers, replaces: versionBefore.get(start) ?? null });
  }
  return segments;
}
