import type {
  EntryView,
  InboxItem,
  LiveMessage,
  LiveView,
  MessageEntry,
  NoticeEntry,
  Seq,
  ToolResultPart,
} from "@holdfast/protocol";
import type { UnsentMessage } from "../store/unsent-messages.ts";

/** One thing below another on the screen. Its key is for life: what streams keeps its place when it settles. */
export type Row =
  | { readonly kind: "day"; readonly key: string; readonly at: number }
  | MessageRow
  | {
      readonly kind: "live";
      readonly key: string;
      readonly message: LiveMessage;
      readonly begins: boolean;
    }
  | { readonly kind: "waiting"; readonly key: string; readonly item: Pending }
  | { readonly kind: "notice"; readonly key: string; readonly entry: NoticeEntry }
  | { readonly kind: "compaction"; readonly key: string; readonly entry: EntryOf<"compaction"> }
  | { readonly kind: "epoch"; readonly key: string; readonly entry: EntryOf<"epoch"> };

type EntryOf<T extends EntryView["type"]> = Extract<EntryView, { type: T }>;

/** Said, and not yet part of the conversation: accepted and waiting, or still on its way. */
export type Pending =
  | { readonly kind: "accepted"; readonly item: InboxItem }
  | { readonly kind: "unsent"; readonly message: UnsentMessage };

export interface MessageRow {
  readonly kind: "message";
  readonly key: string;
  readonly entry: MessageEntry;
  /** What became of its calls: in the order of its parts, `null` for a part that is no call or has no result. */
  readonly results: readonly (ToolResultPart | null)[];
  /** The journal, for a message whose calls are being run. */
  readonly live: LiveView | null;
  /** Whether it opens or closes what one side says. */
  readonly begins: boolean;
  readonly ends: boolean;
}

/** The settled entries as rows: results stand with their calls, and days are told apart. */
export function rowsOf(entries: readonly EntryView[]): readonly Row[] {
  const results = new Map<string, ToolResultPart>();
  const calls = new Set<string>();
  for (const entry of entries) {
    if (entry.type !== "message") continue;
    for (const part of entry.parts) {
      if (part.type === "tool_call") calls.add(part.callId);
      if (part.type === "tool_result") results.set(part.callId, part);
    }
  }
  const rows: Row[] = [];
  let day = "";
  for (const entry of entries) {
    if (entry.type === "message" && isShownWithCalls(entry, calls)) continue;
    const own = dayKey(entry.at);
    if (own !== day) rows.push({ kind: "day", key: `day ${own}`, at: entry.at });
    day = own;
    rows.push(rowOf(entry, results, rows.at(-1)));
  }
  return markEnds(rows);
}

function rowOf(
  entry: EntryView,
  results: ReadonlyMap<string, ToolResultPart>,
  before: Row | undefined,
): Row {
  switch (entry.type) {
    case "message":
      return {
        kind: "message",
        // From the moment of sending on a person's message has this name.
        key: entry.clientId ?? entry.messageId,
        entry,
        results: entry.parts.map((part) =>
          part.type === "tool_call" ? (results.get(part.callId) ?? null) : null,
        ),
        live: null,
        begins: sideOf(before) !== sideOfRole(entry.role),
        ends: false,
      };
    case "notice":
      return { kind: "notice", key: entry.noticeId, entry };
    case "compaction":
      return { kind: "compaction", key: `compaction ${entry.seq}`, entry };
    case "epoch":
      return { kind: "epoch", key: `epoch ${entry.seq}`, entry };
  }
}

/** What is being written, below what is settled; and what is being run, at the calls that asked for it. */
export function withLive(rows: readonly Row[], live: LiveView | null): readonly Row[] {
  if (live === null) return rows;
  const all: Row[] = [...rows];
  for (let at = all.length - 1; at >= 0; at--) {
    const row = all[at];
    if (row?.kind === "message" && row.entry.role === "user") break;
    if (row?.kind === "message" && hasOpenCall(row)) all[at] = { ...row, live };
  }
  for (const message of live.messages) {
    const last = all.at(-1);
    if (last?.kind === "message")
      all[all.length - 1] = { ...last, ends: last.entry.role === "user" };
    const begins = sideOf(last) !== "answer";
    all.push({ kind: "live", key: message.messageId, message, begins });
  }
  return all;
}

/** What nobody works on yet stands where it will be; while a run goes on, it waits in the queue instead. */
export function withPending(rows: readonly Row[], pending: readonly Pending[]): readonly Row[] {
  const waiting = pending.map((item): Row => ({ kind: "waiting", key: pendingKey(item), item }));
  return waiting.length === 0 ? rows : [...rows, ...waiting];
}

export function pendingKey(pending: Pending): string {
  return pending.kind === "accepted" ? pending.item.clientId : pending.message.clientId;
}

/** Whether two rows would look the same. Rows are made anew with each entry, and few of them differ. */
export function sameRow(a: Row, b: Row): boolean {
  if (a.kind !== b.kind || a.key !== b.key) return false;
  if (a.kind === "live" && b.kind === "live")
    return a.message === b.message && a.begins === b.begins;
  if (a.kind === "message" && b.kind === "message")
    return (
      a.entry === b.entry &&
      a.live === b.live &&
      a.begins === b.begins &&
      a.ends === b.ends &&
      a.results.every((result, index) => result === b.results[index])
    );
  if (a.kind === "waiting" && b.kind === "waiting")
    return a.item.kind === "accepted" && b.item.kind === "accepted"
      ? a.item.item === b.item.item
      : a.item === b.item;
  return !("entry" in a) || !("entry" in b) || a.entry === b.entry;
}

/** The number of the entry that a row shows. */
export function seqOf(row: Row): Seq | null {
  return "entry" in row ? row.entry.seq : null;
}

function hasOpenCall({ entry, results }: MessageRow): boolean {
  return entry.parts.some((part, index) => part.type === "tool_call" && results[index] === null);
}

function isShownWithCalls(entry: MessageEntry, calls: ReadonlySet<string>): boolean {
  return (
    entry.role === "tool" &&
    entry.parts.every((part) => part.type === "tool_result" && calls.has(part.callId))
  );
}

function markEnds(rows: readonly Row[]): readonly Row[] {
  return rows.map((row, index) => {
    if (row.kind !== "message") return row;
    const next = rows[index + 1];
    const ends = row.entry.role === "user" || next?.kind !== "message" || next.begins;
    return ends ? { ...row, ends } : row;
  });
}

function sideOf(row: Row | undefined): "asking" | "answer" | "between" {
  if (row?.kind === "live") return "answer";
  return row?.kind === "message" ? sideOfRole(row.entry.role) : "between";
}

function sideOfRole(role: MessageEntry["role"]): "asking" | "answer" {
  return role === "user" ? "asking" : "answer";
}

function dayKey(at: number): string {
  const date = new Date(at);
  return `${date.getFullYear()}-${date.getMonth()}-${date.getDate()}`;
}
