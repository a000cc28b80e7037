import { type EntryView, type Seq, type SessionId } from "@holdfast/protocol";
import { type Client, prependEntries, type SessionState } from "@holdfast/client";

/** A late message stands above the notice that announced it, so its number does not tell its position. */
function isLate(entry: EntryView): boolean {
  return entry.type === "message" && entry.above !== undefined;
}

export function firstOrderedSeq(entries: readonly EntryView[]): Seq | null {
  return entries.find((entry) => !isLate(entry))?.seq ?? null;
}

function lastOrderedSeq(entries: readonly EntryView[]): Seq | null {
  return entries.findLast((entry) => !isLate(entry))?.seq ?? null;
}

/** A contiguous range of entries away from the end of the conversation. */
export interface DetachedRange {
  readonly entries: readonly EntryView[];
  readonly earlier: Seq | null;
}

const rangeSize = 60;
/** A page has at most one entry per number, so a page of this size over as many numbers has no gap. */
const seqsPerPage = 200;

/** The entry with this number, entries above it, and the next ones below. */
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

/** Loading goes on until it has found this many entries. */
const minNewerEntries = 40;

/**
 * The range with the next entries below it, up to `tailStart`, where the loaded tail starts. Numbers do not tell how many
 * entries lie between them, because streamed answers leave wide gaps. So the window of numbers widens until it contains
 * entries, and narrows again when a page could not hold all of them.
 */
export async function loadNewer(
  client: Client,
  id: SessionId,
  range: DetachedRange,
  tailStart: Seq,
): Promise<DetachedRange | null> {
  const last = lastOrderedSeq(range.entries) ?? tailStart;
  const loaded = new Set(range.entries.map(({ seq }) => seq));
  let added: readonly EntryView[] = [];
  let emptyWidth = 0;
  let tooWide = Infinity;
  for (let width = seqsPerPage; ; width = nextWidth(width, emptyWidth, tooWide)) {
    const before = (last + width) as Seq;
    const read = await client.readSession({
      params: { id },
      query: { before, limit: seqsPerPage },
    });
    if (!read.ok) return null;
    const { entries, earlier } = read.value;
    const hasGap = earlier !== null && (firstOrderedSeq(entries) ?? before) > last + 1;
    if (hasGap) tooWide = width;
    else {
      added = entries.filter(({ seq }) => seq > last && !loaded.has(seq));
      if (added.length === 0) emptyWidth = width;
    }
    const isDone = added.length >= minNewerEntries || (added.length > 0 && tooWide < Infinity);
    if (isDone || (!hasGap && before > tailStart))
      return { ...range, entries: [...range.entries, ...added] };
  }
}

function nextWidth(width: number, emptyWidth: number, tooWide: number): number {
  if (tooWide === Infinity) return width * 4;
  return Math.max(emptyWidth + seqsPerPage, Math.floor((emptyWidth + tooWide) / 2));
}

/** The state with the range prepended once the two touch; `null` while there is a gap between them. */
export function joinToTail(state: SessionState, range: DetachedRange): SessionState | null {
  const tailStart = firstOrderedSeq(state.entries);
  const last = lastOrderedSeq(range.entries);
  if (tailStart === null || last === null) return null;
  return last >= tailStart || state.earlier === null ? prependEntries(state, range) : null;
}

/** The loaded entries of a conversation: its tail, and the range further up that is shown instead, if any. */
export interface LoadedEntries {
  readonly state: SessionState;
  readonly detached: DetachedRange | null;
}

/** The numbers of the first and last visible entry. */
export interface VisibleRange {
  readonly first: Seq;
  readonly last: Seq;
}

/** Above this number, entries far from the visible ones are dropped. */
const maxEntries = 600;
/** Kept on each side of the visible entries. */
const entriesAround = 200;
/** Kept of the tail while another range is shown. */
const tailEntries = 100;

/**
 * Drops entries far from the visible ones, so that a tab that scrolled through a whole conversation, or stayed open for a
 * year, holds no more than any other. The host has all of them.
 */
export function trimEntries(
  { state, detached }: LoadedEntries,
  { first, last }: VisibleRange,
): LoadedEntries {
  const { entries } = detached ?? state;
  if (entries.length <= maxEntries) return { state, detached };
  const from = entries.findIndex(({ seq }) => seq === first);
  const to = entries.findLastIndex(({ seq }) => seq === last);
  if (from === -1 || to === -1) return { state, detached };
  const above = cutIndex(entries, Math.max(0, from - entriesAround));
  const below = cutIndex(entries, Math.min(entries.length, to + entriesAround));
  if (detached !== null)
    return { state: tailOf(state), detached: subrange(detached, above, below) };
  if (below >= entries.length - tailEntries)
    return { state: { ...state, ...subrange(state, above) }, detached };
  return { state: tailOf(state), detached: subrange(state, above, below) };
}

function tailOf(state: SessionState): SessionState {
  const { length } = state.entries;
  if (length <= tailEntries) return state;
  return { ...state, ...subrange(state, cutIndex(state.entries, length - tailEntries)) };
}

function subrange(
  { entries, earlier }: DetachedRange,
  from: number,
  to = entries.length,
): DetachedRange {
  const slice = entries.slice(from, to);
  return { entries: slice, earlier: from === 0 ? earlier : firstOrderedSeq(slice) };
}

/** Moves a cut up so that it does not separate a notice from the late entries above it. */
function cutIndex(entries: readonly EntryView[], at: number): number {
  let index = at;
  for (let above = entries[index - 1]; above && isLate(above); above = entries[index - 1]) index--;
  return index;
}
