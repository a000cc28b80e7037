import type { SessionView } from "@holdfast/protocol";

/** How the list is ordered: the newest first, and ids decide between equals. */
export function compareSessions(a: SessionView, b: SessionView): number {
  if (a.sortAt !== b.sortAt) return b.sortAt - a.sortAt;
  return a.id < b.id ? 1 : a.id > b.id ? -1 : 0;
}

/**
 * Puts a page of the list into what is held. The page is the truth from behind `after` down to its last row, or to the end of
 * the list when it is the last page: what was held in between and is not in it has moved or gone.
 */
export function mergePage(
  held: readonly SessionView[],
  page: readonly SessionView[],
  after: SessionView | null,
  hasMore: boolean,
): readonly SessionView[] {
  const last = page.at(-1);
  const fresh = new Set(page.map(({ id }) => id));
  const isKept = ({ id }: SessionView): boolean => !fresh.has(id);
  const above = after === null ? 0 : indexAfter(held, after);
  const below = hasMore && last !== undefined ? indexAfter(held, last) : held.length;
  return [...held.slice(0, above).filter(isKept), ...page, ...held.slice(below).filter(isKept)];
}

/** The row in its place; the list is in order before and after. */
export function insertRow(
  held: readonly SessionView[],
  session: SessionView,
): readonly SessionView[] {
  const rest = held.filter(({ id }) => id !== session.id);
  return rest.toSpliced(indexAfter(rest, session), 0, session);
}

/** How many of the list stand before the first that comes behind this one. */
function indexAfter(held: readonly SessionView[], session: SessionView): number {
  return binarySearch(held.length, (at) => {
    const row = held[at];
    return row !== undefined && compareSessions(row, session) > 0;
  });
}

/** The first index for which it holds; it holds for all behind that one too. */
export function binarySearch(length: number, holds: (index: number) => boolean): number {
  let [from, to] = [0, length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (holds(middle)) to = middle;
    else from = middle + 1;
  }
  return from;
}
