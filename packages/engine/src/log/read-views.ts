import {
  type SessionView,
  roleOf,
  type Seq,
  type StoredEvent,
  type OwnerId,
  type SessionId,
  decodeEvent,
  type KnownEvent,
  type NoticeId,
  type PendingRecovery,
  pendingRecoveryIn,
  type RunId,
  type SeqRange,
} from "@holdfast/protocol";
import type { ListedPage, SessionPage, JournalEvent, Reads } from "../ports/reads.ts";
import type { SessionRow } from "../ports/rows.ts";

/** A session as a client sees it, without the fields that only the engine uses. */
export function viewSession(row: SessionRow): SessionView {
  const { ranges: _, openDeltas: __, alternatives: ___, origin, tags, ...visible } = row;
  return { ...visible, tags: [...tags], ...(origin !== null && { origin }) };
}

const encoder = new TextEncoder();

export function encodeSessionPage({ sessions, next }: SessionPage): ListedPage {
  return { json: encoder.encode(JSON.stringify(sessions.map(viewSession))), next };
}

/**
 * Joins consecutive deltas of the same text. Folds and views lose nothing by it: the text, the seqs and the timing are
 * all kept.
 */
export function joinDeltas(deltas: Iterable<StoredEvent>): JournalEvent[] {
  const joined: JournalEvent[] = [];
  let span: StoredEvent[] = [];
  for (const event of deltas) {
    const last = span.at(-1);
    if (last !== undefined && !continuesDelta(last, event)) {
      joined.push(joinSpan(span));
      span = [];
    }
    span.push(event);
  }
  if (span.length > 0) joined.push(joinSpan(span));
  return joined;
}

function continuesDelta(last: StoredEvent, event: StoredEvent): boolean {
  return (
    event.seq === last.seq + 1 &&
    event.type === last.type &&
    event.v === last.v &&
    event.runId === last.runId &&
    event.quiet === last.quiet &&
    hasSameFields(last.data, event.data) &&
    roleOf(event) === "delta"
  );
}

/** Equal apart from the text. Objects never count as equal, so such a delta stays an event of its own. */
function hasSameFields(previous: StoredEvent["data"], data: StoredEvent["data"]): boolean {
  if (typeof previous["text"] !== "string" || typeof data["text"] !== "string") return false;
  const names = Object.keys(data);
  return (
    names.length === Object.keys(previous).length &&
    names.every((name) => name === "text" || data[name] === previous[name])
  );
}

function joinSpan(span: readonly StoredEvent[]): JournalEvent {
  const [first] = span;
  const last = span.at(-1);
  if (first === undefined || last === undefined)
    throw new Error("joinSpan needs at least one delta.");
  if (first === last) return first;
  const texts = span.map(deltaText);
  return {
    ...last,
    at: first.at,
    data: { ...last.data, text: texts.join("") },
    joined: {
      from: first.seq,
      times: span.map(({ at }) => at - first.at),
      lengths: texts.map((text) => text.length),
    },
  };
}

function deltaText({ data: { text } }: StoredEvent): string {
  return typeof text === "string" ? text : "";
}

/** The first and last seq that a journal event covers. */
export function seqSpanOf({ seq, joined }: JournalEvent): readonly [Seq, Seq] {
  return [joined?.from ?? seq, seq];
}

const entryPageSize = 100;

/**
 * Yields the visible entries from newest to oldest, page by page, as far as the caller reads. `before` is exclusive.
 */
export async function* newestFirst(
  reads: Reads,
  owner: OwnerId,
  session: SessionId,
  before?: Seq,
): AsyncGenerator<StoredEvent> {
  let from = before;
  for (;;) {
    const query = { limit: entryPageSize, ...(from !== undefined && { before: from }) };
    const page = await reads.entries(owner, session, query);
    if (page === null) return;
    yield* page.entries.toReversed();
    const [first] = page.entries;
    if (!page.more || first === undefined) return;
    from = first.seq;
  }
}

/** A notice that still says "recovering". */
export interface PendingNotice {
  readonly noticeId: NoticeId;
  readonly seq: Seq;
  readonly runId: RunId;
  readonly recovery: PendingRecovery;
}

/** The notices among these entries that are still undecided. */
export function pendingNotices(entries: Iterable<StoredEvent>): readonly PendingNotice[] {
  const pending = new Map<NoticeId, PendingNotice>();
  for (const event of knownNotices(entries)) {
    const { noticeId, details } = event.data;
    const seq = pending.get(noticeId)?.seq ?? event.seq;
    const found = pendingRecoveryIn(details);
    if (event.type === "notice.changed" && !pending.has(noticeId)) continue;
    if (found === undefined) pending.delete(noticeId);
    else pending.set(noticeId, { noticeId, seq, ...found });
  }
  return [...pending.values()];
}

function* knownNotices(
  entries: Iterable<StoredEvent>,
): Generator<Extract<KnownEvent, { type: "notice.added" | "notice.changed" }>> {
  for (const entry of entries) {
    if (!entry.type.startsWith("notice.")) continue;
    const decoded = decodeEvent(entry);
    if (decoded.kind !== "known") continue;
    const { event } = decoded;
    if (event.type === "notice.added" || event.type === "notice.changed") yield event;
  }
}

/** What later events say about a notice and its run. */
export interface NoticeUpdates {
  readonly head: Seq;
  /** The notice itself, its later wordings, and the entries placed above it. */
  readonly amendments: readonly StoredEvent[];
  /** The run was continued. */
  readonly resumed: boolean;
}

const eventPageSize = 500;

/** Reads from a notice to the head. Used only for notices that are undecided, or were decided on another page. */
export async function readNoticeUpdates(
  reads: Reads,
  owner: OwnerId,
  session: SessionId,
  notice: { readonly noticeId: NoticeId; readonly seq: Seq; readonly runId?: RunId | undefined },
): Promise<NoticeUpdates | null> {
  const amendments: StoredEvent[] = [];
  let resumed = false;
  let after = (notice.seq - 1) as Seq;
  // The run state written together with the notice follows it directly; it does not mean that the run resumed.
  let isFirstState = true;
  for (;;) {
    const page = await reads.events(owner, session, { after, limit: eventPageSize });
    if (page === null) return null;
    for (const event of page.events) {
      const { noticeId, above, state, continues } = event.data;
      if (noticeId === notice.noticeId || above === notice.noticeId) amendments.push(event);
      if (event.type !== "run.state") continue;
      const isOwn = event.runId === notice.runId;
      if (continues === notice.runId || (isOwn && state === "claimed" && !isFirstState))
        resumed = true;
      if (isOwn) isFirstState = false;
    }
    const last = page.events.at(-1);
    if (!page.more || last === undefined) return { head: page.head, amendments, resumed };
    after = last.seq;
  }
}

/**
 * Adds to visible entries what amends their notices and is stored elsewhere: on a later page, or behind a cut. A notice
 * then reads the same wherever it is read, and recovered entries are always next to their notice.
 */
export async function withAmendments(
  reads: Reads,
  session: {
    readonly owner: OwnerId;
    readonly id: SessionId;
    readonly ranges: readonly SeqRange[];
  },
  entries: readonly StoredEvent[],
  page: "newest" | "earlier",
): Promise<readonly StoredEvent[]> {
  const open = session.ranges.at(-1);
  const missing = pendingNotices(entries).filter(
    ({ seq }) => page === "earlier" || open === undefined || seq < open.from,
  );
  if (missing.length === 0) return entries;
  const held = new Set(entries.map(({ id }) => id));
  const added: StoredEvent[] = [];
  for (const notice of missing) {
    const { log = session.id } = rangeContaining(session.ranges, notice.seq) ?? {};
    // A branch decides for itself what its origin no longer can.
    for (const amended of new Set([log, session.id])) {
      const updates = await readNoticeUpdates(reads, session.owner, amended, notice);
      added.push(...(updates?.amendments ?? []).filter(({ id }) => !held.has(id)));
    }
  }
  return [...entries, ...added];
}

/** The visible range that contains the seq. */
export function rangeContaining(ranges: readonly SeqRange[], seq: Seq): SeqRange | undefined {
  return ranges.find(({ from, to }) => seq >= from && (to === null || seq <= to));
}
