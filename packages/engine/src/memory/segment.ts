import {
  type Seq,
  type SessionId,
  decodeEvent,
  type NoticeId,
  type OwnerId,
  type RunId,
  type StoredEvent,
  ownTextOf,
  textOf,
  type TaintSource,
  type EventData,
  type KnownEvent,
} from "@holdfast/protocol";
import { shortHash } from "../hash.ts";
import { ownerKey } from "./recall.ts";
import type { MarkRow } from "../ports/rows.ts";
import type { MemoryOwner, MemoryTurn } from "../ports/memory.ts";
import type { Unremembered, Reads } from "../ports/reads.ts";

/** The oldest uncommitted turns of a session that share an owner. */
export interface Segment {
  readonly owner: MemoryOwner;
  readonly key: string;
  readonly upTo: Seq;
  readonly marks: readonly MarkRow[];
  /** How often it was handed to its provider. */
  readonly tries: number;
  readonly retryAt: number | null;
  /** Why the last attempt failed. */
  readonly lastFailure: string | null;
}

/** After a long provider outage the backlog is split into several segments: none is larger than this. */
export const maxSegmentTurns = 50;

/**
 * What is committed next. P10: a segment that was tried keeps its range and key until it is committed, whatever was
 * completed meanwhile, so a provider that already has it recognises it by its key.
 */
export function nextSegment(session: SessionId, { marks, trying }: Unremembered): Segment | null {
  const [first] = marks;
  if (first === undefined) return null;
  const { provider, configuration } = first;
  const owner = { provider, configuration };
  if (trying !== null) {
    const { key, upTo, tries, retryAt, code: lastFailure } = trying;
    const tried = marks.filter(({ seq }) => seq <= upTo);
    return { owner, key, upTo, tries, retryAt, lastFailure, marks: tried };
  }
  const firstForeign = marks.findIndex((mark) => !isOwnedBy(owner, mark));
  const owned = firstForeign === -1 ? marks : marks.slice(0, firstForeign);
  const upTo = (owned.at(-1) ?? first).seq;
  const key = `${session}:${first.seq}-${upTo}:${shortHash(ownerKey(owner))}`;
  return { owner, key, upTo, tries: 0, retryAt: null, lastFailure: null, marks: owned };
}

function isOwnedBy(owner: MemoryOwner, mark: MarkRow): boolean {
  return ownerKey(owner) === ownerKey(mark);
}

const pageSize = 200;
/** Per message. Anything longer is material rather than something a person would remember of a conversation. */
const maxTextLength = 32_000;

export type SpokenMessage = MemoryTurn["messages"][number];

/** Whether a person said it, by its lane and its client id. */
export type IsFromPerson = (from: {
  readonly lane: string | null;
  readonly clientId: string | null;
}) => boolean;

export const allFromPeople: IsFromPerson = () => true;

/**
 * The turns of a segment. Undone turns are left out; cleared ones are not, since clearing ends a conversation without
 * taking it back. Turns without text or without a person's message are left out too.
 */
export async function captureTurns(
  reads: Reads,
  owner: OwnerId,
  session: SessionId,
  segment: Pick<Segment, "marks" | "upTo">,
  isFromPerson: IsFromPerson,
): Promise<readonly MemoryTurn[]> {
  const inView = await readInView(reads, owner, session, segment);
  const turns: MemoryTurn[] = [];
  for (const mark of segment.marks) {
    const { seq: generation, runId, at } = mark;
    const entries = inView.get(runId) ?? (await clearedEntries(reads, owner, mark));
    const messages = entries.flatMap((entry) => spokenMessages(entry, isFromPerson));
    if (!hasPerson(messages)) continue;
    const taint = await taintOfMark(reads, owner, mark);
    turns.push({ generation, runId, at, messages, ...(taint.length > 0 && { taint }) });
  }
  return turns;
}

/**
 * The visible entries of each run, read backwards from the segment's end to the start of its first run and no further.
 */
async function readInView(
  reads: Reads,
  owner: OwnerId,
  session: SessionId,
  { marks, upTo }: Pick<Segment, "marks" | "upTo">,
): Promise<ReadonlyMap<RunId, readonly StoredEvent[]>> {
  const found = new Map<RunId, StoredEvent[]>();
  const [first] = marks;
  if (first === undefined) return found;
  const startedAt = await runStartedAt(reads, owner, first);
  const runs = new Set(marks.map(({ runId }) => runId));
  let before = (upTo + 1) as Seq;
  for (;;) {
    const page = await reads.entries(owner, session, { before, limit: pageSize });
    const [oldest] = page?.entries ?? [];
    for (const entry of page?.entries.toReversed() ?? []) {
      const { runId } = entry;
      if (
        runId === undefined ||
        !runs.has(runId) ||
        spokenMessages(entry, allFromPeople).length === 0
      )
        continue;
      found.set(runId, [entry, ...(found.get(runId) ?? [])]);
    }
    if (page?.more !== true || oldest === undefined || oldest.at < startedAt) return found;
    before = oldest.seq;
  }
}

/** What the model had read when it completed the turn. */
async function taintOfMark(
  reads: Reads,
  owner: OwnerId,
  { session, seq }: MarkRow,
): Promise<readonly TaintSource[]> {
  const query = { after: (seq - 1) as Seq, upTo: seq, limit: 1 };
  const [event] = (await reads.events(owner, session, query))?.events ?? [];
  const decoded = event && decodeEvent(event);
  if (decoded?.kind !== "known" || decoded.event.type !== "memory.marked") return [];
  return decoded.event.data.taint ?? [];
}

/** Whether a person is among the speakers. */
export function hasPerson(spoken: readonly SpokenMessage[]): boolean {
  return spoken.some(({ role }) => role === "user");
}

/**
 * Material attached to a person's message is not part of it: recalled text is not remembered again. Neither is what
 * they quoted, forwarded or pasted: they did not say it.
 */
export function spokenMessages(
  entry: StoredEvent,
  isFromPerson: IsFromPerson,
): readonly SpokenMessage[] {
  const decoded = decodeEvent(entry);
  if (decoded.kind !== "known" || entry.data["superseded"] === true) return [];
  const { event } = decoded;
  if (event.type !== "message.user" && event.type !== "message.assistant") return [];
  const role = event.type === "message.user" ? "user" : "assistant";
  if (event.type === "message.user") {
    const { lane = null, clientId = null, rights } = event.data;
    if (!isFromPerson({ lane, clientId })) return [];
    if (rights !== undefined && rights.memory !== "write") return [];
  }
  const spoken = role === "user" ? ownTextOf(event.data.parts) : textOf(event.data.parts);
  const text = spoken.slice(0, maxTextLength);
  return text === "" ? [] : [{ role, text }];
}

/** What the log says about earlier attempts at a segment. */
export interface FailureRecord {
  /** Since when every attempt has failed with the code; `null` if the last one did not. */
  readonly since: number | null;
  /** The notice that tells the person about it, if there is one. */
  readonly noticeId: NoticeId | null;
}

export async function readFailures(
  reads: Reads,
  owner: OwnerId,
  session: SessionId,
  { key, upTo, lastFailure }: Pick<Segment, "key" | "upTo" | "lastFailure">,
  code: string,
): Promise<FailureRecord> {
  let since: number | null = null;
  let noticeId: NoticeId | null = null;
  if (lastFailure === null) return { since, noticeId };
  for await (const event of eventsOf(reads, owner, { session }, { after: upTo })) {
    if (event.type !== "memory.failed" && event.type !== "notice.added") continue;
    const decoded = decodeEvent(event);
    if (decoded.kind !== "known") continue;
    const known = decoded.event;
    if (known.type === "notice.added" && known.data.details?.["memoryKey"] === key)
      ({ noticeId } = known.data);
    if (known.type === "memory.failed" && known.data.key === key)
      since = known.data.code === code ? (since ?? event.at) : null;
  }
  return { since, noticeId };
}

const eventPageSize = 500;

/** The messages of a turn that was hidden by clearing its session; none if it was undone. */
async function clearedEntries(
  reads: Reads,
  owner: OwnerId,
  mark: MarkRow,
): Promise<readonly StoredEvent[]> {
  const { session, seq, runId } = mark;
  const after = await lastBefore(reads, owner, mark);
  const messages: StoredEvent[] = [];
  for await (const event of eventsOf(reads, owner, mark, { after, upTo: seq })) {
    const isMessage = event.type === "message.user" || event.type === "message.assistant";
    if (isMessage && event.runId === runId) messages.push(event);
  }
  const [first] = messages;
  if (first === undefined) return [];
  let hiddenBy: EventData<"history.cut">["reason"] | undefined;
  for await (const event of eventsOf(reads, owner, mark, { after: seq })) {
    const decoded = decodeEvent(event);
    if (decoded.kind !== "known" || !isHistoryEvent(decoded.event)) continue;
    const { type, data } = decoded.event;
    const isInView = data.ranges.some(
      ({ from, to, log = session }) =>
        log === session && first.seq >= from && first.seq <= (to ?? Infinity),
    );
    if (isInView) hiddenBy = undefined;
    else if (type === "history.cut") hiddenBy ??= data.reason;
  }
  return hiddenBy === "clear" ? messages : [];
}

/** By the store's clock: nothing of its run is older than this. */
async function runStartedAt(reads: Reads, owner: OwnerId, mark: MarkRow): Promise<number> {
  return (await reads.run(owner, mark.runId))?.startedAt ?? 0;
}

type HistoryEvent = Extract<KnownEvent, { type: "history.cut" | "history.restored" }>;

function isHistoryEvent(event: KnownEvent): event is HistoryEvent {
  return event.type === "history.cut" || event.type === "history.restored";
}

/** The newest seq before the run started, by binary search: times only grow along a log. */
async function lastBefore(reads: Reads, owner: OwnerId, mark: MarkRow): Promise<Seq> {
  const startedAt = await runStartedAt(reads, owner, mark);
  let low = 0;
  let high = mark.seq - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const query = { after: (middle - 1) as Seq, limit: 1 };
    const [event] = (await reads.events(owner, mark.session, query))?.events ?? [];
    if (event !== undefined && event.at < startedAt) low = middle;
    else high = middle - 1;
  }
  return low as Seq;
}

async function* eventsOf(
  reads: Reads,
  owner: OwnerId,
  { session }: Pick<MarkRow, "session">,
  { after: from, upTo }: { readonly after: Seq; readonly upTo?: Seq },
): AsyncGenerator<StoredEvent> {
  let after = from;
  for (;;) {
    const query = { after, limit: eventPageSize, ...(upTo !== undefined && { upTo }) };
    const page = await reads.events(owner, session, query);
    yield* page?.events ?? [];
    const last = page?.events.at(-1);
    if (page?.more !== true || last === undefined) return;
    after = last.seq;
  }
}
