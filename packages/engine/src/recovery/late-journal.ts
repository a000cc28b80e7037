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
  pendingNotices,
  readNoticeUpdates,
  newestFirst,
} from "../log/entries.ts";
import type { CommitResult } from "../ports/commit.ts";
import type { SpillReadResult, SpillStore, SpillHeader, SpillRef } from "../ports/spill.ts";
import type { LeaseRow } from "../ports/rows.ts";
import type { ClaimDeps } from "../run/claim.ts";
import { damageIn, maxRecoveryWaitMs, maxRecoveryTries, recoveryNotice } from "./settle-journal.ts";
import { RunHandle } from "../run/run-handle.ts";
import { eventsAfter } from "./spill.ts";
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

/** Something to be done, found without a lease and done under one. */
export interface LateJournal {
  readonly ref: SpillRef;
  /** `null`: no notice in view speaks of it. */
  readonly notice: NoticeRef | null;
  readonly answer:
    | Exclude<SpillReadResult, { status: "arriving" }>
    | { readonly status: "too_late" };
  /** A file that is there is brought in also when its notice has been decided without it. */
  readonly found: "by notice" | "by file";
}

/**
 * Looks for what undecided notices wait for. A journal that is still arriving costs nothing: no try, no lease, no write. After
 * a day nobody looks any more.
 */
export async function findLateJournals(
  { log, spills: journals }: LateDeps,
  session: SessionId,
  entries: Iterable<StoredEvent>,
): Promise<readonly LateJournal[]> {
  const pending = pendingNotices(entries);
  if (pending.length === 0) return [];
  const now = await log.store.now();
  const works: LateJournal[] = [];
  for (const notice of pending) {
    const { runId, recovery } = notice;
    const ref = spillRefOf(session, runId, recovery);
    const isTooLate = now - recovery.firstSeen >= maxRecoveryWaitMs;
    const answer = isTooLate ? ({ status: "too_late" } as const) : await journals.read(ref);
    if (answer.status !== "arriving") works.push({ ref, notice, answer, found: "by notice" });
  }
  return works;
}

/**
 * Finds out whose a file is that lies here although nobody writes it. `null`: it says nothing. One that was begun and never
 * took anything, for a run that nobody drives any more, will not say anything later either.
 */
export async function inspectSpill(
  { log, spills: journals }: LateDeps,
  header: SpillHeader,
): Promise<LateJournal | null> {
  const answer = await journals.read(header);
  if (answer.status === "arriving") {
    if (answer.isBegun === true) await journals.forget(header);
    return null;
  }
  const notice = await findRecoveryNotice(log.store.reads, header);
  return { ref: header, notice, answer, found: "by file" };
}

/**
 * Does it, under the lease. Of several who looked the first one decides; the others find it decided and leave it. What a file
 * holds is in the store once, because its header names the commit that brings it there.
 */
export async function ingestLateJournal(
  deps: LateDeps,
  owner: OwnerId,
  lease: LeaseRow,
  work: LateJournal,
): Promise<CommitResult | null> {
  const { log, ids, clock, spills: journals } = deps;
  const { reads } = log.store;
  const { runId } = work.ref;
  for (;;) {
    const since = work.notice && { ...work.notice, runId };
    const aftermath = since && (await readNoticeUpdates(reads, owner, lease.session, since));
    if (work.notice !== null && !isUndecided(work, aftermath)) return null;
    const head = aftermath?.head ?? (await reads.session(owner, lease.session))?.head;
    if (head === undefined) return null;
    const row = await reads.run(owner, runId);
    const run = new RunHandle(log, ids, { owner, runId, lease, head }, clock);
    const { events, isDecided } = ingestEvents(run, work, {
      isReplaced: work.notice?.recovery.resumed ?? aftermath?.resumed ?? true,
      isOver: row === null || terminalStates.has(row.state),
    });
    if (events.length > 0) {
      const result = await run.send({ events, expect: { head }, touch: "quiet" });
      if (result.status === "refused" && result.code === "head_moved") continue;
      if (result.status === "committed" && isDecided) await journals.forget(work.ref);
      return result;
    }
    await journals.forget(work.ref);
    return null;
  }
}

/** Nobody has decided it since it was looked at, and no other try was counted. An empty file is left to its notice. */
function isUndecided(
  { found, notice, answer }: LateJournal,
  aftermath: NoticeUpdates | null,
): boolean {
  if (aftermath === null) return false;
  const current = pendingNotices(aftermath.amendments)[0];
  if (found === "by file") return answer.status === "output" || current === undefined;
  return current !== undefined && current.recovery.tries === notice?.recovery.tries;
}

interface IngestPlan {
  readonly events: readonly NewEvent[];
  /** The file is of no further use. */
  readonly isDecided: boolean;
}

function ingestEvents(
  run: RunHandle,
  { notice, answer, found }: LateJournal,
  rest: { readonly isReplaced: boolean; readonly isOver: boolean },
): IngestPlan {
  const { runId } = run;
  const damage = answer.status === "too_late" ? [] : damageIn(answer);
  if (answer.status === "output") {
    const place = { above: notice?.noticeId ?? null, recovery: notice?.recovery, ...rest };
    const entries = lateEntries(run, answer, place);
    const words = recoveryNotice("recovered", runId, { damage, superseded: rest.isReplaced });
    const told =
      notice === null
        ? run.event("notice.added", { noticeId: run.ids.make("notice"), ...words })
        : run.event("notice.changed", { noticeId: notice.noticeId, ...words });
    const { ingestId } = answer.header;
    const events = [...entries, told].map((event, index) =>
      index === 0 ? { ...event, id: ingestId } : event,
    );
    return { events, isDecided: true };
  }
  // The file is empty, and whoever waited for it has been told, or is told by its notice.
  if (notice === null || found === "by file") return { events: [], isDecided: true };
  const { noticeId, recovery } = notice;
  const tries = recovery.tries + 1;
  if (answer.status === "sealed" && tries < maxRecoveryTries) {
    const pending = { ...recovery, tries };
    const words = recoveryNotice("recovering", runId, { pending, damage });
    return { events: [run.event("notice.changed", { noticeId, ...words })], isDecided: false };
  }
  const words = recoveryNotice("nothing_recovered", runId, { damage });
  return { events: [run.event("notice.changed", { noticeId, ...words })], isDecided: true };
}

function spillRefOf(session: SessionId, runId: RunId, { spill }: PendingRecovery): SpillRef {
  return { session, runId, place: spill.place, fence: spill.fence };
}

const maxOlderEntries = 100;

/** The notice that was left for a spill, decided or not, if it is in view. */
async function findRecoveryNotice(
  reads: LateDeps["log"]["store"]["reads"],
  { owner, session, runId, fence }: SpillHeader,
): Promise<NoticeRef | null> {
  const begun = (await reads.run(owner, runId))?.createdAt ?? 0;
  let older = 0;
  for await (const entry of newestFirst(reads, owner, session)) {
    // What is older than the run cannot speak of it; but clocks step back, so a few of them prove nothing.
    older = entry.at < begun ? older + 1 : 0;
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
  /** `null`: they stand where they are written, above a notice of their own. */
  readonly above: NoticeId | null;
  readonly isReplaced: boolean;
  /** The run has ended: a call that was asked for and not begun will not be. */
  readonly isOver: boolean;
  readonly recovery: PendingRecovery | undefined;
}

type SpilledOutput = Extract<SpillReadResult, { status: "output" }>;

/** The entries that a late journal becomes: its message, what its tools did, what it cost. */
function lateEntries(
  run: RunHandle,
  answer: SpilledOutput,
  place: LateTarget,
): readonly NewEvent[] {
  const { end, damage } = answer;
  const { recovery } = place;
  const known = recovery?.tools ?? [];
  const starts = known.map((tool) =>
    newEvent(run.ids.make("event"), "tool.started", { ...tool, replay: "never" }, run.runId),
  );
  const fold = foldStep([], [...starts, ...eventsAfter(answer.events, recovery?.upTo)]);
  const tools = [...fold.tools.values()];
  // The message that asked for the tools of the notice stands in the transcript already.
  const isKnown = ({ started }: StreamedTool) =>
    known.some(({ callId }) => callId === started.callId);
  const begun = tools.filter((tool) => !isKnown(tool)).map(({ started }) => started);
  const asked = (end?.calls ?? []).filter(
    ({ callId }) => !begun.some((one) => one.callId === callId),
  );
  const calls = asRecovered([
    ...begun.map(({ callId, name, input }) => ({ callId, name, input })),
    ...asked,
  ]);
  const parts = [
    ...(fold.message?.parts ?? []),
    ...calls.map((call): Part => ({ type: "tool_call", ...call })),
  ];
  const isWhole = end?.how === "done" && damage.length === 0;
  const marks = {
    ...(place.above !== null && { above: place.above }),
    ...(place.isReplaced && { superseded: true as const }),
  };
  const message: EventData<"message.assistant"> = {
    messageId: run.ids.make("message"),
    parts,
    ...(end !== null && { model: end.model }),
    ...(!isWhole && { partial: "interrupted" as const }),
    ...marks,
  };
  const ended = tools.filter((tool) => tool.ended !== null || !isKnown(tool)).map(toolEndOf);
  const unbegun = place.isOver ? asked : [];
  const results = [
    ...ended.map((each) => ({ ...each, resultId: run.ids.make("message") })),
    ...unbegun.map(({ callId, name }) => ({
      callId,
      name,
      resultId: run.ids.make("message"),
      outcome: "cancelled" as const,
      output: "It was not begun: the host had stopped.",
    })),
  ].map((each): NewEvent => {
    const settled = settledTool(run, { ...each, recovered: true }, []);
    return { ...settled, data: { ...settled.data, ...marks } };
  });
  const spoken = parts.length > 0 ? [run.event("message.assistant", message)] : [];
  return [...spoken, ...results, ...usageEvent(run, end?.model ?? "unknown", end?.usage ?? null)];
}
