import {
  clipRanges,
  type EventData,
  type EventId,
  type IdSource,
  newEvent,
  type NewEvent,
  type OwnerId,
  type Seq,
  type SessionId,
  type StoredEvent,
  type SeqRange,
  decodeEvent,
  textOf,
} from "@holdfast/protocol";
import { type Log } from "../log/log.ts";
import { newestFirst } from "../log/read-views.ts";
import type { CommitResult, Committed, Failed, Refused } from "../ports/commit.ts";
import type { SessionRow } from "../ports/rows.ts";

export interface HistoryTarget {
  readonly owner: OwnerId;
  readonly session: SessionId;
  /** Refused as `head_moved` unless this is still the head. */
  readonly expectedHead?: Seq | undefined;
  /** Identifies the command: repeating it returns the first answer and does nothing else. */
  readonly command?: EventId | undefined;
}

export interface HistoryDeps {
  readonly log: Log;
  readonly ids: IdSource;
}

export interface HistoryRefusal {
  readonly status: "refused";
  readonly code: "nothing_to_undo" | "nothing_to_redo" | "entry_not_found";
  readonly message: string;
}

export type HistoryResult = Committed | Refused | Failed | HistoryRefusal;

type Reason = EventData<"history.cut">["reason"];

/** Where to cut: the first entry to go, the newest that stays, and what the list shows of the rest. */
export interface CutPoint {
  readonly row: SessionRow;
  readonly from: StoredEvent | null;
  /**
   * Ranges end here and not just before `from`: otherwise each retry of a turn would leave a range without an entry,
   * which every later event about the history would list. 0: nothing stays.
   */
  readonly keep: Seq;
  readonly messageCount: number;
  readonly preview: string;
}

/** Hides an entry and everything after it. */
export function truncate(
  deps: HistoryDeps,
  target: HistoryTarget,
  from: Seq,
): Promise<HistoryResult> {
  return runOnce(deps, target, async () => {
    const point = await findCutPoint(deps.log, target, (entry) => entry.seq === from);
    if (point === null) return noSession;
    if (point.from === null)
      return refuseHistory(
        "entry_not_found",
        "This entry is not in the conversation as it is shown now.",
      );
    return cut(deps, target, point, "truncate", []);
  });
}

/** Hides everything. The session, its id and its rows stay. */
export function clear(deps: HistoryDeps, target: HistoryTarget): Promise<HistoryResult> {
  return runOnce(deps, target, async () => {
    const row = await deps.log.store.reads.session(target.owner, target.session);
    if (row === null) return noSession;
    const nothing = { row, from: null, keep: 0 as Seq, messageCount: 0, preview: "" };
    return cut(deps, target, nothing, "clear", []);
  });
}

/**
 * Repeating a command whose answer was lost would apply it again to its own result. If its event is stored, the first
 * answer is returned instead.
 */
export async function runOnce<R extends { readonly status: string }>(
  { log }: HistoryDeps,
  target: HistoryTarget,
  action: () => Promise<R>,
): Promise<R | Committed> {
  const done = await findEarlierResult(log, target);
  return done ?? retryWhileHeadMoves(target, action);
}

const maxTries = 20;

/** A title or a message may arrive between read and write: a caller who named no head just tries again. */
export async function retryWhileHeadMoves<R extends { readonly status: string }>(
  { expectedHead }: HistoryTarget,
  action: () => Promise<R>,
): Promise<R> {
  for (let attempt = 1; ; attempt += 1) {
    const result = await action();
    const hasMoved =
      result.status === "refused" && "code" in result && result.code === "head_moved";
    if (expectedHead !== undefined || !hasMoved || attempt === maxTries) return result;
  }
}

export async function findEarlierResult(
  log: Log,
  { owner, session, command }: HistoryTarget,
): Promise<Committed | null> {
  if (command === undefined) return null;
  const event = await log.store.reads.event(owner, session, command);
  const row = event && (await log.store.reads.session(owner, session));
  if (event === null || row === null) return null;
  const { version, revision } = row;
  const { seq, at } = event;
  return { status: "committed", first: seq, last: seq, at, version, revision, repeated: true };
}

/** Walks back to the wanted entry, counting what would go. `from: null`: it was not found. */
export async function findCutPoint(
  log: Log,
  { owner, session }: HistoryTarget,
  isFirstToGo: (entry: StoredEvent) => boolean,
): Promise<CutPoint | null> {
  const row = await log.store.reads.session(owner, session);
  if (row === null) return null;
  let { messageCount } = row;
  let from: StoredEvent | null = null;
  let keep: Seq | undefined;
  for await (const entry of newestFirst(log.store.reads, owner, session)) {
    if (from !== null) keep ??= entry.seq;
    if (from !== null && keep !== undefined && isMessage(entry))
      return { row, from, keep, messageCount, preview: textOfEntry(entry) };
    if (from !== null) continue;
    if (isMessage(entry)) messageCount -= 1;
    if (isFirstToGo(entry)) from = entry;
  }
  const rest = { messageCount: Math.max(0, messageCount), preview: "" };
  return { row, from, keep: keep ?? (0 as Seq), ...rest };
}

/**
 * One commit with the cut and what replaces it. The transaction proves that nothing has moved and that no run is live.
 */
export function cut(
  { log, ids }: HistoryDeps,
  { owner, session, expectedHead, command = ids.make("event") }: HistoryTarget,
  { row, keep, messageCount, preview }: CutPoint,
  reason: Reason,
  replacement: readonly NewEvent[],
  replaces?: EventData<"history.cut">["replaces"],
): Promise<CommitResult> {
  const event = newEvent(command, "history.cut", {
    reason,
    ranges: cutRanges(row.ranges, keep, (row.head + 1) as Seq),
    messageCount,
    preview,
    before: viewOf(row),
    ...(replaces && { replaces }),
  });
  return commitView({ log, ids }, { owner, session, expectedHead }, row, [event, ...replacement]);
}

/** What is visible now, for whoever brings it back later. */
export function viewOf({ ranges, messageCount, preview }: SessionRow): View {
  return { ranges: [...ranges], messageCount, preview };
}

export type View = NonNullable<EventData<"history.cut">["before"]>;

/** Commits a change of what is visible that was worked out from this row. */
export function commitView(
  { log }: HistoryDeps,
  { owner, session, expectedHead }: HistoryTarget,
  row: SessionRow,
  events: readonly NewEvent[],
): Promise<CommitResult> {
  // A run moves the head with every delta: that it is live says more than that the head moved.
  if (row.liveRun !== null) return Promise.resolve(runLive);
  const expect = { head: expectedHead ?? row.head, idle: true } as const;
  // Both must hold: the head the person saw, and the one counted from here.
  if (expect.head !== row.head) return Promise.resolve(headMoved(row));
  return log.commit({ owner, session, events, expect });
}

export function headMoved(row: SessionRow): Refused {
  return {
    status: "refused",
    code: "head_moved",
    message: `The session's newest event is ${row.head}.`,
  };
}

export function refuseHistory(code: HistoryRefusal["code"], message: string): HistoryRefusal {
  return { status: "refused", code, message };
}

export const noSession: Refused = {
  status: "refused",
  code: "session_not_found",
  message: "There is no such session.",
};

export const runLive: Refused = {
  status: "refused",
  code: "run_live",
  message: "A run is going on in this session.",
};

/** What stays visible when everything after `keep` goes; events after `cutAt`, the cut's own seq, are visible again. */
function cutRanges(ranges: readonly SeqRange[], keep: Seq, cutAt: Seq): SeqRange[] {
  return [...clipRanges(ranges, keep), { from: (cutAt + 1) as Seq, to: null }];
}

/**
 * What a branch sees: what its origin shows up to `at`, each range in the log that stores it, then its own log. Also
 * flat for a branch of a branch, so nothing is ever resolved through a chain of origins.
 */
export function branchRanges(ranges: readonly SeqRange[], origin: SessionId, at: Seq): SeqRange[] {
  const read = clipRanges(ranges, at).map((range) => ({ ...range, log: range.log ?? origin }));
  return [...read, { from: (at + 1) as Seq, to: null }];
}

/** Counts in the list as something a person or the model said. */
export function isMessage(entry: StoredEvent): boolean {
  if (entry.type === "message.assistant") return entry.data["above"] === undefined;
  return entry.type === "message.user";
}

export function textOfEntry(entry: StoredEvent): string {
  const decoded = decodeEvent(entry);
  if (decoded.kind !== "known") return "";
  const { event } = decoded;
  return event.type === "message.user" || event.type === "message.assistant"
    ? textOf(event.data.parts)
    : "";
}
