import type { EntryView, Seq } from "@holdfast/protocol";
import type { SessionState } from "@holdfast/client";
import { firstInPlace, isLate } from "./entry-ranges.ts";
import type { Island } from "./island.ts";

/** What is held of a conversation: its end, and perhaps a stretch further up that is looked at instead. */
export interface Held {
  readonly state: SessionState;
  readonly island: Island | null;
}

/** The entries in sight, by their numbers. */
export interface Sight {
  readonly first: Seq;
  readonly last: Seq;
}

/** So many are held at most before what is out of sight is let go of. */
const most = 600;
/** So many are kept on each side of what is in sight. */
const margin = 200;
/** So many of the end are kept for whoever comes back to it. */
const end = 100;

/**
 * Lets go of what is far out of sight, so that a tab that was scrolled through a whole conversation, or that has been open
 * for a year of turns, holds no more than any other. The host has all of it.
 */
export function letGo({ state, island }: Held, { first, last }: Sight): Held {
  const { entries } = island ?? state;
  if (entries.length <= most) return { state, island };
  const from = entries.findIndex(({ seq }) => seq === first);
  const to = entries.findLastIndex(({ seq }) => seq === last);
  if (from === -1 || to === -1) return { state, island };
  const above = cut(entries, Math.max(0, from - margin));
  const below = cut(entries, Math.min(entries.length, to + margin));
  if (island !== null) return { state: tailOf(state), island: between(island, above, below) };
  if (below >= entries.length - end)
    return { state: { ...state, ...between(state, above) }, island };
  return { state: tailOf(state), island: between(state, above, below) };
}

function tailOf(state: SessionState): SessionState {
  const { length } = state.entries;
  if (length <= end) return state;
  return { ...state, ...between(state, cut(state.entries, length - end)) };
}

/** A stretch of a stretch, and where what is above it begins. */
function between({ entries, earlier }: Island, from: number, to = entries.length): Island {
  const kept = entries.slice(from, to);
  return { entries: kept, earlier: from === 0 ? earlier : firstInPlace(kept) };
}

/** Not between a notice and what came late and stands above it. */
function cut(entries: readonly EntryView[], at: number): number {
  let index = at;
  for (let above = entries[index - 1]; above && isLate(above); above = entries[index - 1]) index--;
  return index;
}
