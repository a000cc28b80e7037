import type { SeqRange } from "../events/session.ts";
import type { StoredEvent } from "../events/registry.ts";
import type { EntryView } from "../http/views.ts";

/**
 * What was found late has a number of its own, behind others, and its place above the notice that announced it. The one
 * rule of that place, for transcript and context alike: directly above that notice, and nowhere without it.
 */
function placeAboveNotices<T>(
  all: readonly T[],
  above: (each: T) => unknown,
  notice: (each: T) => unknown,
): readonly T[] {
  if (all.every((each) => above(each) === undefined)) return all;
  const late = new Map<unknown, T[]>();
  for (const each of all) {
    const name = above(each);
    if (name !== undefined) late.set(name, [...(late.get(name) ?? []), each]);
  }
  return all.flatMap((each) => {
    if (above(each) !== undefined) return [];
    const name = notice(each);
    return name === undefined ? [each] : [...(late.get(name) ?? []), each];
  });
}

/** Entries as they are stored, in the order in which they are read. */
export function eventsInReadingOrder(events: readonly StoredEvent[]): readonly StoredEvent[] {
  return placeAboveNotices(
    events,
    (event) => event.data["above"],
    (event) => (event.type === "notice.added" ? event.data["noticeId"] : undefined),
  );
}

/** The same for entries as they are shown. */
export function entriesInReadingOrder(entries: readonly EntryView[]): readonly EntryView[] {
  return placeAboveNotices(entries, aboveOf, noticeOf);
}

/** Numbers alone decide, for a branch too; what came late goes with its notice. */
export function visibleEntries(
  entries: readonly EntryView[],
  ranges: readonly SeqRange[],
): readonly EntryView[] {
  const isInRange = ({ seq }: EntryView): boolean =>
    ranges.some(({ from, to }) => seq >= from && (to === null || seq <= to));
  return entriesInReadingOrder(entries.filter((entry) => isLate(entry) || isInRange(entry)));
}

export function isLate(entry: EntryView): boolean {
  return aboveOf(entry) !== undefined;
}

function aboveOf(entry: EntryView): unknown {
  return entry.type === "message" ? entry.above : undefined;
}

function noticeOf(entry: EntryView): unknown {
  return entry.type === "notice" ? entry.noticeId : undefined;
}
