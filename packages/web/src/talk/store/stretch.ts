import type { EntryView, Seq } from "@holdfast/protocol";
import type { SessionState } from "@holdfast/client";
import { firstOrderedSeq, isLate } from "./entry-ranges.ts";
import type { DetachedRange } from "./island.ts";

/** What is held of a conversation: its end, and perhaps a stretch further up that is looked at instead. */
export interface LoadedEntries {
  readonly state: SessionState;
  readonly detached: DetachedRange | null;
}

/** The entries in sight, by their numbers. */
export interface VisibleRange {
  readonly first: Seq;
  readonly last: Seq;
}

/** So many are held at most before what is out of sight is let go of. */
const maxEntries = 600;
/** So many are kept on each side of what is in sight. */
const entriesAround = 200;
/** So many of the end are kept for whoever comes back to it. */
const tailEntries = 100;

/**
 * Lets go of what is far out of sight, so that a tab that was scrolled through a whole conversation, or that has been open
 * for a year of turns, holds no more than any other. The host has all of it.
 */
export function trimEntries(
  { state, detached: island }: LoadedEntries,
  { first, last }: VisibleRange,
): LoadedEntries {
  const { entries } = island ?? state;
  if (entries.length <= maxEntries) return { state, detached: island };
  const from = entries.findIndex(({ seq }) => seq === first);
  const to = entries.findLastIndex(({ seq }) => seq === last);
  if (from === -1 || to === -1) return { state, detached: island };
  const above = cutIndex(entries, Math.max(0, from - entriesAround));
  const below = cutIndex(entries, Math.min(entries.length, to + entriesAround));
  if (island !== null) return { state: tailOf(state), detached: subrange(island, above, below) };
  if (below >= entries.length - tailEntries)
    return { state: { ...state, ...subrange(state, above) }, detached: island };
  return { state: tailOf(state), detached: subrange(state, above, below) };
}

function tailOf(state: SessionState): SessionState {
  const { length } = state.entries;
  if (length <= tailEntries) return state;
  return { ...state, ...subrange(state, cutIndex(state.entries, length - tailEntries)) };
}

/** A stretch of a stretch, and where what is above it begins. */
function subrange(
  { entries, earlier }: DetachedRange,
  from: number,
  to = entries.length,
): DetachedRange {
  const kept = entries.slice(from, to);
  return { entries: kept, earlier: from === 0 ? earlier : firstOrderedSeq(kept) };
}

/** Not between a notice and what came late and stands above it. */
function cutIndex(entries: readonly EntryView[], at: number): number {
  let index = at;
  for (let above = entries[index - 1]; above && isLate(above); above = entries[index - 1]) index--;
  return index;
}
