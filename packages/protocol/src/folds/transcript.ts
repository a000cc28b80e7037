import type { KnownEvent } from "../events/index.ts";
import type { EntryView, NoticeEntry } from "../http/views.ts";

type EntryEvent<T extends KnownEvent["type"]> = Extract<KnownEvent, { type: T }>;

/** The row that an event adds to the conversation, if it adds one. */
export function entryOf(event: KnownEvent): EntryView | null {
  const place = {
    seq: event.seq,
    at: event.at,
    ...(event.runId !== undefined && { runId: event.runId }),
  };
  switch (event.type) {
    case "message.user":
      return { ...event.data, ...place, type: "message", role: "user" };
    case "message.assistant": {
      const { deltas: _, ...shown } = event.data;
      return { ...shown, ...place, type: "message", role: "assistant" };
    }
    case "message.tool": {
      const { deltas: _, ...shown } = event.data;
      return { ...shown, ...place, type: "message", role: "tool" };
    }
    case "notice.added":
      return { ...event.data, ...place, type: "notice" };
    case "context.compacted":
      return { ...event.data, ...place, type: "compaction" };
    case "context.epoch":
      return { ...event.data, ...place, type: "epoch" };
    default:
      return null;
  }
}

/** New words on the old notice: it keeps its place, and there is one of it. */
export function changeNotice(
  entries: readonly EntryView[],
  event: EntryEvent<"notice.changed">,
): readonly EntryView[] {
  const index = entries.findLastIndex(
    (entry) => entry.type === "notice" && entry.noticeId === event.data.noticeId,
  );
  const old = entries[index];
  return old?.type === "notice" ? entries.with(index, changedNotice(old, event)) : entries;
}

function changedNotice(old: NoticeEntry, event: EntryEvent<"notice.changed">): NoticeEntry {
  const { seq, at, runId } = old;
  return { ...event.data, type: "notice", seq, at, ...(runId !== undefined && { runId }) };
}
