import { isLate } from "@holdfast/protocol";
import type { SessionState } from "./reducer-state.ts";

/** So many entries are held at most by who only follows. */
const maxFollowerEntries = 600;
/** So many are left when there are more: not one by one, which would copy all of them each time. */
const keptFollowerEntries = 300;

/**
 * Lets go of the oldest entries, as if the first read had begun behind them: who follows a session for a year holds no more
 * than on the first day. What came late stays with the notice that it stands above.
 */
export function dropOldEntries(state: SessionState): SessionState {
  const { entries } = state;
  if (entries.length <= maxFollowerEntries) return state;
  let from = entries.length - keptFollowerEntries;
  for (let above = entries[from - 1]; above && isLate(above); above = entries[from - 1]) from -= 1;
  const tail = entries.slice(from);
  const first = tail.find((entry) => !isLate(entry));
  return first === undefined ? state : { ...state, entries: tail, earlier: first.seq };
}
