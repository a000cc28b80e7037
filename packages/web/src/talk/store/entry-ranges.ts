import { type EntryView, type Seq, type SessionId } from "@holdfast/protocol";
import { type Client, prependEntries, type SessionState } from "@holdfast/client";

/** What came late stands above the notice that announced it: its number says nothing of its place. */
function isLate(entry: EntryView): boolean {
  return entry.type === "message" && entry.above !== undefined;
}

export function firstOrderedSeq(entries: readonly EntryView[]): Seq | null {
  return entries.find((entry) => !isLate(entry))?.seq ?? null;
}

function lastOrderedSeq(entries: readonly EntryView[]): Seq | null {
  return entries.findLast((entry) => !isLate(entry))?.seq ?? null;
}

/** A stretch of the conversation away from its end, contiguous in itself. */
export interface DetachedRange {
  readonly entries: readonly EntryView[];
  readonly earlier: Seq | null;
}

const rangeSize = 60;
/** A page never holds more entries than numbers, so one of this size over as many numbers has no hole. */
const seqsPerPage = 200;

/** The entry with this number, what stands above it, and what stands right below. */
export async function loadRangeAround(
  client: Client,
  id: SessionId,
  seq: Seq,
): Promise<DetachedRange | null> {
  const query = { before: (seq + 1) as Seq, limit: rangeSize };
  const read = await client.readSession({ params: { id }, query });
  if (!read.ok || read.value.entries.length === 0) return null;
  const { entries, earlier } = read.value;
  return loadNewer(client, id, { entries, earlier }, read.value.seq);
}

/** So many at once are worth an answer of the host. */
const minNewerEntries = 40;

/**
 * The island with the next entries below it. `shore` is where something else is held already. Numbers say nothing of how many
 * entries lie between them: answers that were streamed leave wide gaps. So the look goes further until there are some, and
 * less far again when it would skip any.
 */
export async function loadNewer(
  client: Client,
  id: SessionId,
  island: DetachedRange,
  shore: Seq,
): Promise<DetachedRange | null> {
  const last = lastOrderedSeq(island.entries) ?? shore;
  const held = new Set(island.entries.map(({ seq }) => seq));
  let added: readonly EntryView[] = [];
  let empty = 0;
  let tooWide = Infinity;
  for (let width = seqsPerPage; ; width = nextWidth(width, empty, tooWide)) {
    const before = (last + width) as Seq;
    const read = await client.readSession({
      params: { id },
      query: { before, limit: seqsPerPage },
    });
    if (!read.ok) return null;
    const { entries, earlier } = read.value;
    const hasHole = earlier !== null && (firstOrderedSeq(entries) ?? before) > last + 1;
    if (hasHole) tooWide = width;
    else {
      added = entries.filter(({ seq }) => seq > last && !held.has(seq));
      if (added.length === 0) empty = width;
    }
    const isDone = added.length >= minNewerEntries || (added.length > 0 && tooWide < Infinity);
    if (isDone || (!hasHole && before > shore))
      return { ...island, entries: [...island.entries, ...added] };
  }
}

function nextWidth(width: number, empty: number, tooWide: number): number {
  if (tooWide === Infinity) return width * 4;
  return Math.max(empty + seqsPerPage, Math.floor((empty + tooWide) / 2));
}

/** What the state holds with the island on top of it, once they touch; `null` while there is water between. */
export function joinToTail(state: SessionState, island: DetachedRange): SessionState | null {
  const shore = firstOrderedSeq(state.entries);
  const last = lastOrderedSeq(island.entries);
  if (shore === null || last === null) return null;
  return last >= shore || state.earlier === null ? prependEntries(state, island) : null;
}

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
