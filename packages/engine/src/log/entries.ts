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

/** The visible entries from the newest backwards, page by page, as far as the caller goes. `before` is exclusive. */
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

/** A notice that says "recovering", as it stands now. */
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

/** What became of a notice and of its run, further on in the log. */
export interface NoticeUpdates {
  readonly head: Seq;
  /** The notice itself, new words for it, and what stands above it. */
  readonly amendments: readonly StoredEvent[];
  /** Somebody went on with the run. */
  readonly resumed: boolean;
}

const eventPageSize = 500;

/** Reads on from a notice to the head. Only what is undecided, or was decided out of sight, is ever read like this. */
export async function readNoticeUpdates(
  reads: Reads,
  owner: OwnerId,
  session: SessionId,
  notice: { readonly noticeId: NoticeId; readonly seq: Seq; readonly runId?: RunId | undefined },
): Promise<NoticeUpdates | null> {
  const amendments: StoredEvent[] = [];
  let resumed = false;
  let after = (notice.seq - 1) as Seq;
  // The state that the notice was written with stands right behind it; it is not a going on.
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
 * Adds to visible entries what belongs to their notices and stands elsewhere: on a later page, or behind a cut. So a notice
 * reads the same wherever it is read, and what was recovered is there exactly where its notice is.
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
    const aftermath = await readNoticeUpdates(reads, session.owner, log ?? session.id, notice);
    added.push(...(aftermath?.amendments ?? []).filter(({ id }) => !held.has(id)));
  }
  return [...entries, ...added];
}
