import {
  type OwnerId,
  type Seq,
  type SessionId,
  type StoredEvent,
  decodeEvent,
  type KnownEvent,
  type NoticeId,
  type PendingRecovery,
  pendingRecoveryIn,
  type RunId,
  type SeqRange,
} from "@holdfast/protocol";
import type { Reads } from "../ports/reads.ts";

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
    const log = session.ranges.find(
      ({ from, to }) => notice.seq >= from && (to === null || notice.seq <= to),
    )?.log;
    const updates = await readNoticeUpdates(reads, session.owner, log ?? session.id, notice);
    added.push(...(updates?.amendments ?? []).filter(({ id }) => !held.has(id)));
  }
  return [...entries, ...added];
}
