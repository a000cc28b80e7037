import type { EventData, KnownEvent } from "../events/registry.ts";
import type { Alternative, SeqRange } from "../events/session.ts";
import type { MessageId, Seq } from "../ids.ts";

/** The alternatives of one turn, oldest first. */
export type AlternativeSet = readonly Alternative[];

/** P12: a session's row lists no more versions than this. Those that were left longest ago stay in the log alone. */
export const maxAlternatives = 1_000;

/** All of a session's alternatives after one more event: what replaced what, and where each of them was left. */
export function foldAlternatives(
  sets: readonly AlternativeSet[],
  event: KnownEvent,
): readonly AlternativeSet[] {
  switch (event.type) {
    case "history.cut": {
      const left = markLeft(sets, event.seq, event.data);
      const { replaces, ranges } = event.data;
      if (replaces === undefined) return left;
      return withinLimit(addAlternative(left, event.seq, replaces), ranges);
    }
    case "history.restored":
      return markLeft(sets, event.seq, event.data);
    case "message.user":
      return changeOne(sets, event.data.messageId, (entry) => [{ ...entry, seq: event.seq }]);
    case "input.removed": {
      const rest = changeOne(sets, event.data.messageId, () => []);
      return rest === sets ? sets : rest.filter((set) => set.length > 1);
    }
    default:
      return sets;
  }
}

/** The alternatives of a message, and its position among them. `null`: it is the only one. */
export function alternativesOf(
  sets: readonly AlternativeSet[],
  messageId: MessageId,
): { readonly set: AlternativeSet; readonly index: number } | null {
  for (const set of sets) {
    const index = set.findIndex((entry) => entry.messageId === messageId);
    if (index !== -1) return { set, index };
  }
  return null;
}

function addAlternative(
  sets: readonly AlternativeSet[],
  left: Seq,
  { messageId, seq, by }: NonNullable<EventData<"history.cut">["replaces"]>,
): readonly AlternativeSet[] {
  const added: Alternative = { messageId: by };
  const found = alternativesOf(sets, messageId);
  if (found === null) return [...sets, [{ messageId, seq, left }, added]];
  return sets.map((set) => (set === found.set ? [...set, added] : set));
}

/** Those that were in view and no longer are can be brought back as they were just before. */
function markLeft(
  sets: readonly AlternativeSet[],
  left: Seq,
  { ranges, before }: Pick<EventData<"history.cut">, "ranges" | "before">,
): readonly AlternativeSet[] {
  if (sets.length === 0 || before === undefined) return sets;
  return sets.map((set) =>
    set.map((entry) => {
      const wasLeft = isInRanges(before.ranges, entry.seq) && !isInRanges(ranges, entry.seq);
      return wasLeft ? { ...entry, left } : entry;
    }),
  );
}

function withinLimit(
  sets: readonly AlternativeSet[],
  ranges: readonly SeqRange[],
): readonly AlternativeSet[] {
  const excess = sets.reduce((count, set) => count + set.length, 0) - maxAlternatives;
  if (excess <= 0) return sets;
  const oldest = sets
    .flat()
    .filter(({ seq, left }) => left !== undefined && !isInRanges(ranges, seq))
    .toSorted((a, b) => (a.left ?? 0) - (b.left ?? 0))
    .slice(0, excess);
  return sets
    .map((set) => set.filter((entry) => !oldest.includes(entry)))
    .filter((set) => set.length > 1);
}

/** A version that is out of view, and everything that was in view when it was left. */
export interface HiddenAlternative {
  readonly messageId: MessageId;
  readonly seq: Seq;
  readonly left: Seq;
  readonly ranges: readonly SeqRange[];
}

/**
 * The versions out of view that can be chosen: those of a turn in view, and those of a turn that would be in view with
 * another version. `viewBefore` says what was in view before an event that changed that.
 */
export function hiddenAlternatives(
  { alternatives, ranges }: AlternativesInView,
  viewBefore: (left: Seq) => readonly SeqRange[] | undefined,
): readonly HiddenAlternative[] {
  const hidden: HiddenAlternative[] = [];
  const views = [ranges];
  let waiting = alternatives;
  // Each view that is found may bring further turns within reach.
  for (const view of views) {
    const isReached = (set: AlternativeSet): boolean =>
      set.some(({ seq }) => isInRanges(view, seq));
    const reached = waiting.filter(isReached);
    waiting = waiting.filter((set) => !isReached(set));
    for (const { messageId, seq, left } of reached.flat()) {
      if (seq === undefined || left === undefined || isInRanges(ranges, seq)) continue;
      const before = viewBefore(left);
      if (before === undefined) continue;
      const clipped = clipRanges(before, (left - 1) as Seq);
      hidden.push({ messageId, seq, left, ranges: clipped });
      views.push(clipped);
    }
  }
  return hidden;
}

export interface AlternativesInView {
  readonly alternatives: readonly AlternativeSet[];
  readonly ranges: readonly SeqRange[];
}

/** The version to choose to see an entry that is out of view: the innermost one that contains it. */
export function alternativeWith(
  hidden: readonly HiddenAlternative[],
  contains: (ranges: readonly SeqRange[]) => boolean,
  seq: Seq,
): HiddenAlternative | undefined {
  const holding = hidden.filter((entry) => entry.seq <= seq && contains(entry.ranges));
  return holding.toSorted((a, b) => b.seq - a.seq)[0];
}

/** What stays of the ranges when everything after `last` goes. */
export function clipRanges(ranges: readonly SeqRange[], last: Seq): SeqRange[] {
  return ranges
    .filter(({ from }) => from <= last)
    .map((range) => ({ ...range, to: range.to === null || range.to > last ? last : range.to }));
}

function isInRanges(ranges: readonly SeqRange[], seq: Seq | undefined): boolean {
  return (
    seq !== undefined && ranges.some(({ from, to }) => seq >= from && (to === null || seq <= to))
  );
}

function changeOne(
  sets: readonly AlternativeSet[],
  messageId: MessageId,
  change: (entry: Alternative) => readonly Alternative[],
): readonly AlternativeSet[] {
  const found = alternativesOf(sets, messageId);
  if (found === null || found.set[found.index]?.seq !== undefined) return sets;
  const changed = found.set.flatMap((entry) =>
    entry.messageId === messageId ? change(entry) : [entry],
  );
  return sets.map((set) => (set === found.set ? changed : set));
}
