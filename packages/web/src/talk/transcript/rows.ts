import {
  type AlternativeSet,
  alternativesOf,
  type EntryView,
  type InboxItem,
  type LiveMessage,
  type LiveView,
  type MessageEntry,
  type MessageId,
  type NoticeEntry,
  type Seq,
  type Source,
  textOf,
  type ToolResultPart,
} from "@holdfast/protocol";
import { citedSources } from "@holdfast/client";
import type { UnsentMessage } from "../store/unsent-messages.ts";

/** One row of the transcript. Its key never changes: a streaming message keeps its row when it settles. */
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

/** A message that is not part of the conversation yet: accepted and queued, or still being sent. */
export type Pending =
  | { readonly kind: "accepted"; readonly item: InboxItem }
  | { readonly kind: "unsent"; readonly message: UnsentMessage };

export interface MessageRow {
  readonly kind: "message";
  readonly key: string;
  readonly entry: MessageEntry;
  /** The result of each part's call; `null` for a part that is no call or has no result. */
  readonly results: readonly (ToolResultPart | null)[];
  /** The live state of the run, for a message whose calls are running. */
  readonly live: LiveView | null;
  /** Whether it is the first or last of consecutive messages of one side. */
  readonly begins: boolean;
  readonly ends: boolean;
  /** For a person's message that was edited or retried: which of its versions this is. */
  readonly version: MessageVersion | null;
  /** For an answer: the message it answers, if that is loaded. */
  readonly question: Seq | null;
  /** For the last answer of a turn: the pages that it links to, or else all that were found and read for it. */
  readonly sources: readonly Source[];
  /** For the last answer of a turn that changed files: where to read about them. */
  readonly changed: TurnChanges | null;
}

export interface TurnChanges {
  /** How many files its calls changed. A file that several changed counts for each. */
  readonly count: number;
  /** Its message, and the last of its entries. */
  readonly from: Seq;
  readonly to: Seq;
}

export interface MessageVersion {
  /** From 1. */
  readonly number: number;
  readonly messageIds: readonly MessageId[];
  /** Where each was taken out of view, if it was. */
  readonly left: readonly (Seq | undefined)[];
}

/** The settled entries as rows, with results at their calls and a heading for each day. */
export function rowsOf(
  entries: readonly EntryView[],
  alternatives: readonly AlternativeSet[] = [],
): readonly Row[] {
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
  let question: Seq | null = null;
  for (const entry of entries) {
    if (entry.type === "message" && isShownWithCalls(entry, calls)) continue;
    const entryDay = dayKey(entry.at);
    if (entryDay !== day) rows.push({ kind: "day", key: `day ${entryDay}`, at: entry.at });
    day = entryDay;
    const row = rowOf(entry, results, rows.at(-1));
    if (row.kind !== "message") rows.push(row);
    else if (row.entry.role === "user") {
      rows.push({ ...row, version: versionOf(row.entry, alternatives) });
      question = row.entry.seq;
    } else rows.push({ ...row, question });
  }
  return withChanges(withSources(markEnds(rows)), lastSeqs(entries));
}

/** For each entry of an agent, the last one before something else is said. */
function lastSeqs(entries: readonly EntryView[]): (seq: Seq) => Seq {
  const own = entries.filter((entry) => entry.type === "message");
  return (seq) => {
    const next = own.find((entry) => entry.seq > seq && entry.role === "user");
    const turn = own.filter((entry) => next === undefined || entry.seq < next.seq);
    return turn.at(-1)?.seq ?? seq;
  };
}

/** Counts what the calls of each turn changed, for the row that ends it. */
function withChanges(rows: readonly Row[], lastOf: (seq: Seq) => Seq): readonly Row[] {
  let count = 0;
  return rows.map((row) => {
    if (row.kind !== "message") return row;
    if (row.entry.role === "user") count = 0;
    for (const result of row.results) count += result?.details?.saved?.count ?? 0;
    if (!row.ends || row.question === null || count === 0) return row;
    return { ...row, changed: { count, from: row.question, to: lastOf(row.entry.seq) } };
  });
}

/** Collects what the tools of each turn found, for the row that ends it. */
function withSources(rows: readonly Row[]): readonly Row[] {
  let found: Source[] = [];
  let said = "";
  return rows.map((row) => {
    if (row.kind !== "message") return row;
    if (row.entry.role === "user") {
      found = [];
      said = "";
      return row;
    }
    for (const result of row.results) found.push(...(result?.details?.sources ?? []));
    said += textOf(row.entry.parts);
    if (!row.ends || found.length === 0) return row;
    return { ...row, sources: citedSources(found, said) };
  });
}

function versionOf(
  { messageId }: MessageEntry,
  alternatives: readonly AlternativeSet[],
): MessageVersion | null {
  const found = alternativesOf(alternatives, messageId);
  return (
    found && {
      number: found.index + 1,
      messageIds: found.set.map((entry) => entry.messageId),
      left: found.set.map((entry) => entry.left),
    }
  );
}

function rowOf(
  entry: EntryView,
  results: ReadonlyMap<string, ToolResultPart>,
  previous: Row | undefined,
): Row {
  switch (entry.type) {
    case "message":
      return {
        kind: "message",
        // A person's message has its client id from the moment it is sent.
        key: entry.clientId ?? entry.messageId,
        entry,
        results: entry.parts.map((part) =>
          part.type === "tool_call" ? (results.get(part.callId) ?? null) : null,
        ),
        live: null,
        begins: sideOf(previous) !== sideOfRole(entry.role),
        ends: false,
        version: null,
        question: null,
        sources: [],
        changed: null,
      };
    case "notice":
      return { kind: "notice", key: entry.noticeId, entry };
    case "compaction":
      return { kind: "compaction", key: `compaction ${entry.seq}`, entry };
    case "epoch":
      return { kind: "epoch", key: `epoch ${entry.seq}`, entry };
  }
}

/** Appends live messages to the settled rows, and attaches running tools to the rows of their calls. */
export function withLive(rows: readonly Row[], live: LiveView | null): readonly Row[] {
  if (live === null) return rows;
  const all: Row[] = [...rows];
  for (let index = all.length - 1; index >= 0; index--) {
    const row = all[index];
    if (row?.kind === "message" && row.entry.role === "user") break;
    if (row?.kind === "message" && hasOpenCall(row)) all[index] = { ...row, live };
  }
  for (const message of live.messages) {
    const last = all.at(-1);
    if (last?.kind === "message")
      all[all.length - 1] = { ...last, ends: last.entry.role === "user" };
    const begins = sideOf(last) !== "agent";
    all.push({ kind: "live", key: message.messageId, message, begins });
  }
  return all;
}

/** Appends pending messages. While a run goes on, the queue shows them instead. */
export function withPending(rows: readonly Row[], pending: readonly Pending[]): readonly Row[] {
  const waiting = pending.map((item): Row => ({ kind: "waiting", key: pendingKey(item), item }));
  if (waiting.length === 0) return rows;
  // The heading of the first day does not wait for the first entry: it would push the message down.
  const at = Date.now();
  const day: Row = { kind: "day", key: `day ${dayKey(at)}`, at };
  return rows.length === 0 ? [day, ...waiting] : [...rows, ...waiting];
}

export function pendingKey(pending: Pending): string {
  return pending.kind === "accepted" ? pending.item.clientId : pending.message.clientId;
}

/** Whether two rows look the same. Rows are rebuilt with each entry, and few of them differ. */
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
      a.question === b.question &&
      a.changed?.count === b.changed?.count &&
      a.changed?.to === b.changed?.to &&
      a.version?.number === b.version?.number &&
      a.version?.messageIds.length === b.version?.messageIds.length &&
      a.version?.left.every((seq, index) => seq === b.version?.left[index]) !== false &&
      a.results.every((result, index) => result === b.results[index]) &&
      a.sources.length === b.sources.length &&
      a.sources.every((source, index) => source === b.sources[index])
    );
  if (a.kind === "waiting" && b.kind === "waiting")
    return a.item.kind === "accepted" && b.item.kind === "accepted"
      ? a.item.item === b.item.item
      : a.item === b.item;
  return !("entry" in a) || !("entry" in b) || a.entry === b.entry;
}

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

function sideOf(row: Row | undefined): "user" | "agent" | "none" {
  if (row?.kind === "live") return "agent";
  return row?.kind === "message" ? sideOfRole(row.entry.role) : "none";
}

function sideOfRole(role: MessageEntry["role"]): "user" | "agent" {
  return role === "user" ? "user" : "agent";
}

function dayKey(at: number): string {
  const date = new Date(at);
  return `${date.getFullYear()}-${date.getMonth()}-${date.getDate()}`;
}
