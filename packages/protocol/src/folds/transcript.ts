import {
  type KnownEvent,
  type StoredEvent,
  type EventData,
  decodeEvent,
} from "../events/registry.ts";
import type { EntryView, NoticeEntry, LiveMessage, LiveTool, LiveView } from "../http/views.ts";
import type { SeqRange } from "../events/session.ts";
import type { RunId } from "../ids.ts";

type EntryEvent<T extends KnownEvent["type"]> = Extract<KnownEvent, { type: T }>;

/** Where a notice leads people, if anywhere. */
export function noticeLink({ details }: Pick<EventData<"notice.added">, "details">): string | null {
  const link = details?.["link"];
  return typeof link === "string" && /^https?:\/\//.test(link) ? link : null;
}

/** The row that an event adds to the conversation, if any. */
export function entryOf(event: KnownEvent): EntryView | null {
  const position = {
    seq: event.seq,
    at: event.at,
    ...(event.runId !== undefined && { runId: event.runId }),
  };
  switch (event.type) {
    case "message.user":
      return { ...event.data, ...position, type: "message", role: "user" };
    case "message.assistant": {
      const { deltas: _, ...visible } = event.data;
      return { ...visible, ...position, type: "message", role: "assistant" };
    }
    case "message.tool": {
      const { deltas: _, ...visible } = event.data;
      return { ...visible, ...position, type: "message", role: "tool" };
    }
    case "notice.added":
      return { ...event.data, ...position, type: "notice" };
    case "context.compacted":
      return { ...event.data, ...position, type: "compaction" };
    case "context.epoch":
      return { ...event.data, ...position, type: "epoch" };
    default:
      return null;
  }
}

/** Rewords a notice: it keeps its position, and there is only one of it. */
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

/**
 * A late entry has a seq after others but belongs above the notice that announced it. The one rule for its position, in
 * transcript and context alike: directly above that notice, and nowhere without it.
 */
function placeAboveNotices<T>(
  all: readonly T[],
  above: (entry: T) => unknown,
  notice: (entry: T) => unknown,
): readonly T[] {
  if (all.every((entry) => above(entry) === undefined)) return all;
  const late = new Map<unknown, T[]>();
  for (const entry of all) {
    const name = above(entry);
    if (name !== undefined) late.set(name, [...(late.get(name) ?? []), entry]);
  }
  return all.flatMap((entry) => {
    if (above(entry) !== undefined) return [];
    const name = notice(entry);
    return name === undefined ? [entry] : [...(late.get(name) ?? []), entry];
  });
}

/** Stored entries in reading order. */
export function eventsInReadingOrder(events: readonly StoredEvent[]): readonly StoredEvent[] {
  return placeAboveNotices(
    events,
    (event) => event.data["above"],
    (event) => (event.type === "notice.added" ? event.data["noticeId"] : undefined),
  );
}

/** The same for entries as shown. */
export function entriesInReadingOrder(entries: readonly EntryView[]): readonly EntryView[] {
  return placeAboveNotices(entries, aboveOf, noticeOf);
}

/** Only seqs decide, for a branch too; late entries go with their notice. */
export function visibleEntries(
  entries: readonly EntryView[],
  ranges: readonly SeqRange[],
): readonly EntryView[] {
  const isInRange = ({ seq }: EntryView): boolean =>
    ranges.some(({ from, to }) => seq >= from && (to === null || seq <= to));
  return entriesInReadingOrder(entries.filter((entry) => isLate(entry) || isInRange(entry)));
}

export function isLate(entry: EntryView): boolean {
  return aboveOf(entry) !== undefined;
}

function aboveOf(entry: EntryView): unknown {
  return entry.type === "message" ? entry.above : undefined;
}

function noticeOf(entry: EntryView): unknown {
  return entry.type === "notice" ? entry.noticeId : undefined;
}

export function emptyLiveView(runId: RunId): LiveView {
  return { runId, messages: [], tools: [], approvals: [] };
}

/**
 * The journal of one step, folded event by event. It never looks at the history, so a delta costs the same in a long
 * session as in a short one.
 */
export function foldLiveView(live: LiveView, event: KnownEvent): LiveView {
  switch (event.type) {
    case "message.delta":
      return appendText(live, event.data, event.at);
    case "tool.started":
      return startTool(live, event.data, event.at);
    case "tool.output":
      return changeTool(live, event.data.callId, (tool) => ({
        ...tool,
        output: tool.output + event.data.text,
      }));
    case "tool.ended":
      return changeTool(live, event.data.callId, (tool) => endTool(tool, event.data, event.at));
    case "approval.asked":
      return {
        ...live,
        approvals: [...live.approvals, { ...event.data, askedAt: event.at }],
      };
    case "approval.answered":
      return {
        ...live,
        approvals: live.approvals.filter((entry) => entry.approvalId !== event.data.approvalId),
      };
    case "message.assistant":
      return {
        ...live,
        messages: live.messages.filter((entry) => entry.messageId !== event.data.messageId),
      };
    case "message.tool":
      return {
        ...live,
        tools: live.tools.filter((entry) => entry.resultId !== event.data.messageId),
      };
    default:
      return live;
  }
}

function appendText(live: LiveView, data: EventData<"message.delta">, at: number): LiveView {
  const index = live.messages.findIndex((entry) => entry.messageId === data.messageId);
  const message = live.messages[index];
  if (message !== undefined)
    return { ...live, messages: live.messages.with(index, growMessage(message, data)) };
  const started: LiveMessage = { messageId: data.messageId, startedAt: at, parts: [] };
  return { ...live, messages: [...live.messages, growMessage(started, data)] };
}

function growMessage(message: LiveMessage, data: EventData<"message.delta">): LiveMessage {
  const { part = 0, kind = "text", text } = data;
  const index = message.parts.findIndex((entry) => entry.part === part);
  const old = message.parts[index];
  if (old !== undefined)
    return { ...message, parts: message.parts.with(index, { ...old, text: old.text + text }) };
  const parts = [...message.parts, { part, kind, text }];
  return { ...message, parts: parts.toSorted((a, b) => a.part - b.part) };
}

function startTool(live: LiveView, data: EventData<"tool.started">, at: number): LiveView {
  const { callId, resultId, name, input, replay } = data;
  const tool: LiveTool = {
    callId,
    resultId,
    name,
    input,
    replay,
    startedAt: at,
    output: "",
    outcome: null,
    endedAt: null,
  };
  // A replayable tool starts again under the same call.
  return { ...live, tools: [...live.tools.filter((entry) => entry.callId !== callId), tool] };
}

function changeTool(
  live: LiveView,
  callId: LiveTool["callId"],
  change: (tool: LiveTool) => LiveTool,
): LiveView {
  const index = live.tools.findIndex((entry) => entry.callId === callId);
  const tool = live.tools[index];
  return tool === undefined ? live : { ...live, tools: live.tools.with(index, change(tool)) };
}

function endTool(tool: LiveTool, data: EventData<"tool.ended">, at: number): LiveTool {
  const { outcome, output, blobId, details } = data;
  const more = { ...(blobId !== undefined && { blobId }), ...(details && { details }) };
  return { ...tool, outcome, output, endedAt: at, ...more };
}

/**
 * What a host makes of its rows for a read. The reducer uses the same functions, so a read and a followed state cannot
 * show an event differently.
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

/** The events of a run since its running step started, as `live` shows them. */
export function foldLiveJournal(runId: RunId, journal: Iterable<StoredEvent>): LiveView {
  let live = emptyLiveView(runId);
  for (const event of knownEvents(journal))
    if (event.runId === runId) live = foldLiveView(live, event);
  return live;
}

/** The view skips a row that does not decode; the store still has it. */
function* knownEvents(events: Iterable<StoredEvent>): Generator<KnownEvent> {
  for (const event of events) {
    const decoded = decodeEvent(event);
    if (decoded.kind === "known") yield decoded.event;
  }
}
