import { type Client, prependEntries, type SessionState } from "@holdfast/client";
import { type EntryView, type Seq, type SessionId } from "@holdfast/protocol";
import { firstOrderedSeq, lastOrderedSeq } from "./entry-ranges.ts";

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
