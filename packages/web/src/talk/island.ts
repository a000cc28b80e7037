import {
  type Client,
  type EntryView,
  prependEntries,
  type Seq,
  type SessionId,
  type SessionState,
} from "@holdfast/protocol";

/** A stretch of the conversation away from its end, contiguous in itself. */
export interface Island {
  readonly entries: readonly EntryView[];
  readonly earlier: Seq | null;
}

const around = 60;
/** A page never holds more entries than numbers, so one of this size over as many numbers has no hole. */
const reach = 200;

/** The entry with this number, what stands above it, and what stands right below. */
export async function islandAround(
  client: Client,
  id: SessionId,
  seq: Seq,
): Promise<Island | null> {
  const query = { before: (seq + 1) as Seq, limit: around };
  const read = await client.readSession({ params: { id }, query });
  if (!read.ok || read.value.entries.length === 0) return null;
  const { entries, earlier } = read.value;
  return loadBelow(client, id, { entries, earlier }, read.value.seq);
}

/** The island with the next entries below it. `shore` is where something else is held already. */
export async function loadBelow(
  client: Client,
  id: SessionId,
  island: Island,
  shore: Seq,
): Promise<Island | null> {
  const last = island.entries.at(-1)?.seq ?? shore;
  for (let from = last; ; from = (from + reach) as Seq) {
    const before = (from + reach) as Seq;
    const read = await client.readSession({ params: { id }, query: { before, limit: reach } });
    if (!read.ok) return null;
    const held = new Set(island.entries.map(({ seq }) => seq));
    const added = read.value.entries.filter(({ seq }) => seq > last && !held.has(seq));
    if (added.length > 0 || before > shore)
      return { ...island, entries: [...island.entries, ...added] };
  }
}

/** What the state holds with the island on top of it, once they touch; `null` while there is water between. */
export function landIsland(state: SessionState, island: Island): SessionState | null {
  const shore = state.entries[0]?.seq;
  const last = island.entries.at(-1)?.seq;
  if (shore === undefined || last === undefined) return null;
  return last >= shore || state.earlier === null ? prependEntries(state, island) : null;
}
