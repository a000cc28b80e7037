import { decodeEvent, type KnownEvent } from "../events/index.ts";
import { type StoredEvent } from "../events/registry.ts";
import type { EntryView, LiveView } from "../http/views.ts";
import type { RunId } from "../ids.ts";
import { entryOf, changeNotice } from "./transcript.ts";
import { eventsInReadingOrder } from "./late.ts";
import { emptyLiveView, foldLiveView } from "./live.ts";

/**
 * What a host makes of its rows for a read. The same functions as the reducer's, so a read and a followed
 * state cannot show an event differently.
 */
export function entriesOf(events: Iterable<StoredEvent>): readonly EntryView[] {
  let entries: EntryView[] = [];
  for (const event of knownEvents(eventsInReadingOrder([...events]))) {
    if (event.type === "notice.changed") entries = [...changeNotice(entries, event)];
    const entry = entryOf(event);
    if (entry !== null) entries.push(entry);
  }
  return entries;
}

/** The events of a run since its running step began, as `live` shows them. */
export function foldLiveJournal(runId: RunId, journal: Iterable<StoredEvent>): LiveView {
  let live = emptyLiveView(runId);
  for (const event of knownEvents(journal))
    if (event.runId === runId) live = foldLiveView(live, event);
  return live;
}

/** A row that does not decode is skipped in the view; the store still holds it. */
function* knownEvents(events: Iterable<StoredEvent>): Generator<KnownEvent> {
  for (const event of events) {
    const decoded = decodeEvent(event);
    if (decoded.kind === "known") yield decoded.event;
  }
}
