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
export function putStretch(
  held: readonly SessionView[],
  page: readonly SessionView[],
  after: SessionView | null,
  hasMore: boolean,
): readonly SessionView[] {
  const last = page.at(-1);
  const fresh = new Set(page.map(({ id }) => id));
  const kept = held.filter((session) => {
    if (fresh.has(session.id)) return false;
    const isAbove = after !== null && compareSessions(session, after) <= 0;
    const isBelow = hasMore && last !== undefined && compareSessions(session, last) > 0;
    return isAbove || isBelow;
  });
  return [...kept, ...page].toSorted(compareSessions);
}
