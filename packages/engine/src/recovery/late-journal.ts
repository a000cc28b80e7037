import {
  decodeEvent,
  type NewEvent,
  type NoticeId,
  type OwnerId,
  type PendingRecovery,
  pendingRecoveryIn,
  type RunId,
  type Seq,
  type SessionId,
  type StoredEvent,
  terminalStates,
  type EventData,
  newEvent,
  type Part,
} from "@holdfast/protocol";
import {
  type NoticeUpdates,
  type PendingNotice,
  pendingNotices,
  readNoticeUpdates,
  newestFirst,
  rangeContaining,
} from "../log/read-views.ts";
import type { CommitResult } from "../ports/commit.ts";
import type { SpillReadResult, SpillStore, SpillHeader, SpillRef } from "../ports/spill.ts";
import type { LeaseRow } from "../ports/rows.ts";
import type { ClaimDeps } from "../run/claim.ts";
import {
  awayAfterMs,
  damageIn,
  maxRecoveryWaitMs,
  maxRecoveryTries,
  recoveryNotice,
} from "./settle-journal.ts";
import { RunHandle } from "../run/run-handle.ts";
import type { JournalReader } from "./journal-reader.ts";
import { eventsAfter, losesRecord } from "./spill.ts";
import { isStatedEmpty } from "./spill-statement.ts";
import { foldStep, type StreamedTool } from "../run/fold-step.ts";
import { toolEndOf, asRecovered, settledTool, usageEvent } from "../run/settle.ts";

export interface LateDeps extends Pick<ClaimDeps, "log" | "ids" | "clock"> {
  readonly spills: SpillStore;
}

interface NoticeRef {
  readonly noticeId: NoticeId;
  readonly seq: Seq;
  readonly recovery: PendingRecovery;
}

/** A late journal to ingest: found without a lease, read and ingested under one. */
export interface LateJournal {
  readonly ref: SpillRef;
  /** `null`: no visible notice mentions it. */
  readonly notice: NoticeRef | null;
  readonly answer:
    | Exclude<SpillReadResult, { status: "arriving" }>
    /** Its home has not been heard of. `too_late`: for so long that nobody looks any more. */
    | { readonly status: "away" | "too_late" };
  /** The notice's events as they were read: a branch may decide a notice from another log. */
  readonly seen?: readonly StoredEvent[];
  /** A file that exists is ingested even if its notice was decided without it. */
  readonly found: "by notice" | "by file";
}

/**
 * Groups undecided notices by the session that decides them. A branch also shows notices of its origin: they are decided
 * where they were written, even if a cut hides them there. If that session is gone, the branch gives up after a day, or
 * at once.
 */
export async function groupByDecider(
  { log: { store } }: Pick<LateDeps, "log">,
  owner: OwnerId,
  session: SessionId,
  entries: Iterable<StoredEvent>,
  givesUp: "after a day" | "at once" = "after a day",
): Promise<ReadonlyMap<SessionId, readonly StoredEvent[]>> {
  const events = [...entries];
  const pending = pendingNotices(events);
  const row = pending.length === 0 ? null : await store.reads.session(owner, session);
  if (row?.origin == null) return new Map([[session, events]]);
  const deciders = new Map<NoticeId, SessionId>();
  for (const { noticeId, seq, recovery } of pending) {
    const { log = session } = rangeContaining(row.ranges, seq) ?? {};
    const writer = log === session ? row : await store.reads.session(owner, log);
    if (writer?.trashedAt === null) deciders.set(noticeId, log);
    else if (givesUp === "at once" || isExpired(recovery, await store.now()))
      deciders.set(noticeId, session);
  }
  return Map.groupBy(
    events.filter(({ data }) => deciders.has(data["noticeId"] as NoticeId)),
    ({ data }) => deciders.get(data["noticeId"] as NoticeId) ?? session,
  );
}

/**
 * An undecided notice about which something new is known: its journal can be read, its home has stated that there is
 * none, or it has waited for a while or too long.
 */
export interface DueNotice extends PendingNotice {
  readonly finding: "readable" | "stated_empty" | "away" | "too_late";
}

const isExpired = ({ firstSeen }: PendingRecovery, now: number): boolean =>
  now - firstSeen >= maxRecoveryWaitMs;

/**
 * The undecided notices that can be decided now. A journal that is still arriving costs nothing: no attempt, no lease,
 * no write. After a day its notice is decided without it.
 */
export async function findDueNotices(
  { log }: LateDeps,
  journals: JournalReader,
  session: SessionId,
  entries: Iterable<StoredEvent>,
): Promise<readonly DueNotice[]> {
  const pending = pendingNotices(entries);
  if (pending.length === 0) return [];
  const now = await log.store.now();
  const lookFor = async ({
    runId,
    recovery,
  }: PendingNotice): Promise<DueNotice["finding"] | null> => {
    if (isExpired(recovery, now)) return "too_late";
    const ref = spillRefOf(session, runId, recovery);
    if (await journals.isReady(ref)) return "readable";
    if (await isStatedEmpty(log.store.register, ref, recovery.firstSeen)) return "stated_empty";
    return now - recovery.firstSeen >= awayAfterMs && !recovery.isAway ? "away" : null;
  };
  const looked = await Promise.all(
    pending.map(async (notice) => {
      const finding = await lookFor(notice);
      return finding === null ? [] : [{ ...notice, finding }];
    }),
  );
  return looked.flat();
}

const answerByFinding = {
  stated_empty: { status: "known_empty" },
  away: { status: "away" },
  too_late: { status: "too_late" },
} as const;

/** S4.3: call only under the lease, so that one reader does the work. Slow reads are left to `onRead`. */
export async function readLateJournals(
  journals: JournalReader,
  session: SessionId,
  notices: { readonly due: readonly DueNotice[]; readonly seen: Iterable<StoredEvent> },
  onRead: () => Promise<unknown>,
): Promise<readonly LateJournal[]> {
  const seen = [...notices.seen];
  const read = await Promise.all(
    notices.due.map(async ({ finding, ...notice }): Promise<readonly LateJournal[]> => {
      const ref = spillRefOf(session, notice.runId, notice.recovery);
      const answer =
        finding === "readable" ? await journals.read(ref, onRead) : answerByFinding[finding];
      if (answer === null || answer.status === "arriving") return [];
      return [{ ref, notice, answer, seen, found: "by notice" }];
    }),
  );
  return read.flat();
}

/**
 * Reads a spill file that no process writes any more. Empty if it has no output or takes too long to read. A file that
 * was begun without output is removed: its run is over, so it will never get any.
 */
export async function readAbandonedSpill(
  { log, spills }: LateDeps,
  journals: JournalReader,
  header: SpillHeader,
  onRead: () => Promise<unknown>,
): Promise<readonly LateJournal[]> {
  const answer = await journals.read(header, onRead);
  if (answer === null) return [];
  if (answer.status === "arriving") {
    if (answer.isBegun === true) await spills.forget(header);
    return [];
  }
  const notice = await findRecoveryNotice(log.store.reads, header);
  return [{ ref: header, notice, answer, found: "by file" }];
}

/**
 * Ingests the journal under the lease. Of several finders the first decides; the others see that and leave it. A file's
 * content is stored only once, because its header names the commit that ingests it.
 */
export async function ingestLateJournal(
  deps: LateDeps,
  owner: OwnerId,
  lease: LeaseRow,
  lateJournal: LateJournal,
): Promise<CommitResult | null> {
  const { log, ids, clock, spills } = deps;
  const { reads } = log.store;
  const { runId } = lateJournal.ref;
  for (;;) {
    const since = lateJournal.notice && { ...lateJournal.notice, runId };
    const updates = since && (await readNoticeUpdates(reads, owner, lease.session, since));
    if (lateJournal.notice !== null && !isUndecided(lateJournal, updates)) return null;
    const head = updates?.head ?? (await reads.session(owner, lease.session))?.head;
    if (head === undefined) return null;
    const row = await reads.run(owner, runId);
    const run = new RunHandle(log, ids, { owner, runId, lease, head }, clock);
    const { events, isDecided } = ingestEvents(run, lateJournal, {
      isReplaced: lateJournal.notice?.recovery.resumed ?? updates?.resumed ?? true,
      isOver: row === null || terminalStates.has(row.state),
    });
    if (events.length > 0) {
      // A branch that gives up reports a run of its origin, which must not be written as its own.
      const isOwn = row?.session === lease.session;
      const sent = isOwn ? events : events.map(({ id, type, v, data }) => ({ id, type, v, data }));
      const result = await run.send({ events: sent, expect: { head }, touch: "quiet" });
      if (result.status === "refused" && result.code === "head_moved") continue;
      if (result.status === "committed" && isDecided) await spills.forget(lateJournal.ref);
      return result;
    }
    await spills.forget(lateJournal.ref);
    return null;
  }
}

/** Nobody has decided it since the look-up, and no other try was counted. An empty file is left to its notice. */
function isUndecided(
  { found, notice, answer, seen = [] }: LateJournal,
  updates: NoticeUpdates | null,
): boolean {
  if (updates === null) return false;
  const current = pendingNotices([...seen, ...updates.amendments]).find(
    ({ noticeId }) => noticeId === notice?.noticeId,
  );
  if (found === "by file") return answer.status === "output" || current === undefined;
  return current !== undefined && current.recovery.tries === notice?.recovery.tries;
}

interface IngestPlan {
  readonly events: readonly NewEvent[];
  /** The file is no longer needed. */
  readonly isDecided: boolean;
}

function ingestEvents(
  run: RunHandle,
  { notice, answer, found }: LateJournal,
  rest: { readonly isReplaced: boolean; readonly isOver: boolean },
): IngestPlan {
  const { runId } = run;
  const damage = damageIn(answer);
  if (answer.status === "output") {
    const position = { above: notice?.noticeId ?? null, recovery: notice?.recovery, ...rest };
    const entries = lateEntries(run, answer, position);
    const wording = recoveryNotice("recovered", runId, { damage, superseded: rest.isReplaced });
    const amended =
      notice === null
        ? run.event("notice.added", { noticeId: run.ids.make("notice"), ...wording })
        : run.event("notice.changed", { noticeId: notice.noticeId, ...wording });
    const { ingestId } = answer.header;
    const events = [...entries, amended].map((event, index) =>
      index === 0 ? { ...event, id: ingestId } : event,
    );
    return { events, isDecided: true };
  }
  // The file is empty, and its notice tells, or will tell, whoever waited for it.
  if (notice === null || found === "by file") return { events: [], isDecided: true };
  const { noticeId, recovery } = notice;
  if (answer.status === "away") {
    const wording = recoveryNotice("host_away", runId, { pending: { ...recovery, isAway: true } });
    return { events: [run.event("notice.changed", { noticeId, ...wording })], isDecided: false };
  }
  const tries = recovery.tries + 1;
  if (answer.status === "sealed" && tries < maxRecoveryTries) {
    const pending = { ...recovery, tries };
    const kind = recovery.isAway ? "host_away" : "recovering";
    const wording = recoveryNotice(kind, runId, { pending, damage });
    return { events: [run.event("notice.changed", { noticeId, ...wording })], isDecided: false };
  }
  const wording = recoveryNotice("nothing_recovered", runId, { damage });
  return { events: [run.event("notice.changed", { noticeId, ...wording })], isDecided: true };
}

function spillRefOf(session: SessionId, runId: RunId, { spill }: PendingRecovery): SpillRef {
  return { session, runId, place: spill.place, fence: spill.fence };
}

const maxOlderEntries = 100;

/** The notice left for a spill, decided or not, if it is visible. */
async function findRecoveryNotice(
  reads: LateDeps["log"]["store"]["reads"],
  { owner, session, runId, fence }: SpillHeader,
): Promise<NoticeRef | null> {
  const startedAt = (await reads.run(owner, runId))?.createdAt ?? 0;
  let older = 0;
  for await (const entry of newestFirst(reads, owner, session)) {
    // Entries older than the run cannot mention it; but clocks step back, so a few of them prove nothing.
    older = entry.at < startedAt ? older + 1 : 0;
    if (older > maxOlderEntries) return null;
    const decoded = entry.type === "notice.added" ? decodeEvent(entry) : undefined;
    if (decoded?.kind !== "known" || decoded.event.type !== "notice.added") continue;
    const { noticeId, details } = decoded.event.data;
    const found = pendingRecoveryIn(details);
    if (found?.runId === runId && found.recovery.spill.fence === fence)
      return { noticeId, seq: entry.seq, recovery: found.recovery };
  }
  return null;
}

export interface LateTarget {
  /** `null`: the entries go where they are written, above a notice of their own. */
  readonly above: NoticeId | null;
  readonly isReplaced: boolean;
  /** The run has ended: a requested call that has not started never will. */
  readonly isOver: boolean;
  readonly recovery: PendingRecovery | undefined;
}

type SpilledOutput = Extract<SpillReadResult, { status: "output" }>;

/** The entries a late journal becomes: its message, its tools' results and its usage. */
function lateEntries(
  run: RunHandle,
  answer: SpilledOutput,
  position: LateTarget,
): readonly NewEvent[] {
  const { end, damage } = answer;
  const { recovery } = position;
  const known = recovery?.tools ?? [];
  const starts = known.map((tool) =>
    newEvent(run.ids.make("event"), "tool.started", { ...tool, replay: "never" }, run.runId),
  );
  const fold = foldStep([], [...starts, ...eventsAfter(answer.events, recovery?.upTo)]);
  const tools = [...fold.tools.values()];
  // The message that requested the notice's tools is already in the transcript.
  const isKnown = ({ started }: StreamedTool) =>
    known.some(({ callId }) => callId === started.callId);
  const startedCalls = tools.filter((tool) => !isKnown(tool)).map(({ started }) => started);
  const requestedCalls = (end?.calls ?? []).filter(
    ({ callId }) => !startedCalls.some((started) => started.callId === callId),
  );
  const calls = asRecovered([
    ...startedCalls.map(({ callId, name, input }) => ({ callId, name, input })),
    ...requestedCalls,
  ]);
  const parts = [
    ...(fold.message?.parts ?? []),
    ...calls.map((call): Part => ({ type: "tool_call", ...call })),
  ];
  const isWhole = end?.how === "done" && !damage.some(losesRecord);
  const marks = {
    ...(position.above !== null && { above: position.above }),
    ...(position.isReplaced && { superseded: true as const }),
  };
  const message: EventData<"message.assistant"> = {
    messageId: run.ids.make("message"),
    parts,
    ...(end !== null && { model: end.model }),
    ...(!isWhole && { partial: "interrupted" as const }),
    ...marks,
  };
  const ended = tools.filter((tool) => tool.ended !== null || !isKnown(tool)).map(toolEndOf);
  const unstarted = position.isOver ? requestedCalls : [];
  const results = [
    ...ended.map((entry) => ({ ...entry, resultId: run.ids.make("message") })),
    ...unstarted.map(({ callId, name }) => ({
      callId,
      name,
      resultId: run.ids.make("message"),
      outcome: "cancelled" as const,
      output: "It was not begun: the host had stopped.",
    })),
  ].map((entry): NewEvent => {
    const settled = settledTool(run, { ...entry, recovered: true }, []);
    return { ...settled, data: { ...settled.data, ...marks } };
  });
  const output = parts.length > 0 ? [run.event("message.assistant", message)] : [];
  return [...output, ...results, ...usageEvent(run, end?.model ?? "unknown", end?.usage ?? null)];
}
