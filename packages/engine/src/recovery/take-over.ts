import {
  type LaneKey,
  laneKey,
  type NewEvent,
  type OwnerId,
  type Seq,
  terminalStates,
} from "@holdfast/protocol";

import { isResumedByPerson, isResting } from "../log/fold-rows.ts";
import type { LeaseRow, RunRow } from "../ports/rows.ts";
import type { Reads, Snapshot } from "../ports/reads.ts";
import { settleUnrunCalls, memoryMark, type MemoryOwnerOf, sizeLimits } from "../run/settle.ts";
import type { ClaimDeps } from "../run/claim.ts";
import type { RunPosition } from "../run/drive.ts";
import { awaitsFallback } from "../run/call-model.ts";
import { findSpill, type FoundSpill, type SpillDeps } from "./spill.ts";
import { deltaRanges, foldStepInSlices, foldStep, type StepFold } from "../run/fold-step.ts";
import { settleJournal, takeOverNotice, type TakeOverFacts } from "./settle-journal.ts";
import { RunHandle } from "../run/run-handle.ts";
import { rightsOfRun } from "../run/run-rights.ts";
import { readContext } from "../context/session-context.ts";
import { taintOf } from "../context/taint.ts";

/** What happens to a run whose runner died: it resumes by itself, waits for a person, or ends. */
export type ResumePolicy = "resume" | "ask" | "off";

const maxAttempts = 3;
/** Enough for the newest message and the results of all its calls. */
export const maxEntriesPerStep = 2 * sizeLimits.calls + 50;

export interface TakeOverDeps extends ClaimDeps, SpillDeps {
  readonly policy: ResumePolicy;
  readonly memoryOwnerOf?: MemoryOwnerOf;
}

export interface TakenOverRun {
  readonly run: RunHandle;
  readonly position: RunPosition;
}

/**
 * Takes over a run whose runner died. Its streamed output becomes entries above one notice that names the cause; a tool
 * that had started and may not be replayed is unknown. A resting run is left to its person; one that a person resumed
 * was not interrupted, so it gets no notice. `null`: there is nothing to continue.
 */
export async function takeOverRun(
  deps: TakeOverDeps,
  owner: OwnerId,
  lease: LeaseRow,
): Promise<TakenOverRun | null> {
  const { log, ids, clock } = deps;
  for (;;) {
    const snapshot = await log.store.reads.snapshot(owner, lease.session, {
      limit: maxEntriesPerStep,
    });
    if (snapshot === null || snapshot.run === null) return null;
    const { run: row, session } = snapshot;
    if (isResting(row.state) && !row.cancelRequested) return null;
    const { head } = session;
    const lane = laneOfRun(snapshot, row);
    const run = new RunHandle(log, ids, { owner, runId: row.id, lease, head, lane }, clock);
    const runRef = { session: lease.session, runId: row.id };
    const spill = await findSpill(deps.spills, runRef, snapshot.journal);
    const next = isAnswerComplete(spill, row) ? completed : decideNext(row, deps.policy);
    const firstSeen = await log.store.now();
    const stepEntries = { owner, session: lease.session, entries: snapshot.entries.entries };
    const isFallbackPending = await awaitsFallback(log.store.reads, run, stepEntries.entries);
    const fold = await foldStepInSlices(deps.clock, snapshot.journal, spill.events);
    const leftover = [
      ...settleWithNotice(run, snapshot, fold, { ...next, spill, firstSeen }),
      ...(next.ends
        ? await settleUnrunCalls(log.store.reads, run, stepEntries, callsToSettle(fold, spill))
        : []),
    ];
    const marks = next === completed ? await memoryMarkOf(deps, run) : [];
    const closed = await closeQuestionsInCalls(log.store.reads, run);
    const events = withIngestId([...leftover, ...closed, next.event(run), ...marks], spill);
    const result = await run.send({ events, expect: { head: session.head } });
    if (result.status === "refused" && result.code === "head_moved") continue;
    if (result.status === "committed" && spill.answer.status === "output") {
      await deps.spills?.forget(spill.answer.header);
      deps.onSpillState?.(lease.session, "restored");
    }
    if (result.status === "committed" && next.continues)
      return {
        run,
        position: { ...positionOf(row, result.at), ...(isFallbackPending && fallbackPosition) },
      };
    if (result.status !== "committed") run.loseBy(result);
    if (run.refusal !== null) await giveUpRun(deps, owner, lease, run.refusal.code);
    return null;
  }
}

/** The call that asked died with its runner, so an answer would reach nobody. */
async function closeQuestionsInCalls(reads: Reads, run: RunHandle): Promise<readonly NewEvent[]> {
  const asked = await reads.approvalsFor(run.owner, run.session, run.runId);
  return asked.flatMap(({ id: approvalId, runId, state, details }) =>
    runId === run.runId && state === "open" && details.inCall === true
      ? [run.event("approval.answered", { approvalId, decision: "expired" })]
      : [],
  );
}

async function memoryMarkOf(deps: TakeOverDeps, run: RunHandle): Promise<readonly NewEvent[]> {
  const context = await readContext(deps.log.store.reads, run.owner, run.session);
  if (context === null) return [];
  const rights = await rightsOfRun(deps, run, context);
  return memoryMark(deps.memoryOwnerOf, run, { rights, taint: taintOf(context) });
}

/**
 * Where the run's message came from, according to its entry. A step with many entries may have pushed it out of view.
 */
function laneOfRun({ entries }: Snapshot, { id }: RunRow): LaneKey | null {
  const message = entries.entries.findLast(
    ({ type, runId }) => type === "message.user" && runId === id,
  );
  return laneKey.safeParse(message?.data["lane"]).data ?? null;
}

/** Limits keep counting: what a run has used is in its row, not in a runner's memory. */
function positionOf({ step, tries, startedAt, restedMs }: RunRow, now: number): RunPosition {
  const usedMs = Math.max(0, now - (startedAt ?? now) - restedMs);
  return { step, tries, isFallbackPending: false, usedMs, journal: [] };
}

const fallbackPosition = { tries: 0, isFallbackPending: true } as const;

interface NextMove {
  readonly continues: boolean;
  readonly ends: boolean;
  event(run: RunHandle): NewEvent;
}

/** The answer was complete when its runner stopped: it only has to be stored. */
const completed: NextMove = {
  continues: false,
  ends: true,
  event: (run) => run.event("run.state", { state: "completed" }),
};

function isAnswerComplete({ isWhole, end, hasMessage }: FoundSpill, row: RunRow): boolean {
  return isWhole && hasMessage && end?.calls.length === 0 && !row.cancelRequested;
}

/** A spill is ingested by the commit its header names: once, whoever does it. */
function withIngestId(events: readonly NewEvent[], { answer }: FoundSpill): readonly NewEvent[] {
  if (answer.status !== "output") return events;
  return events.map((event, index) =>
    index === 0 ? { ...event, id: answer.header.ingestId } : event,
  );
}

/** What a take-over does with the run, by how often it was taken over and the configured policy. */
function decideNext(row: RunRow, policy: ResumePolicy): NextMove {
  const isResumedByUser = isResumedByPerson(row);
  const attempt = row.attempt + (isResumedByUser ? 0 : 1);
  const to = (state: "claimed" | "paused" | "interrupted" | "cancelled", cause?: string) => ({
    continues: state === "claimed",
    ends: terminalStates.has(state),
    event: (run: RunHandle) =>
      run.event("run.state", { state, attempt, ...(cause !== undefined && { cause }) }),
  });
  // P6: a cancelled run is never resumed.
  if (row.cancelRequested) return to("cancelled");
  // Claimed: the cause is cleared from here on, and a runner that dies counts as usual.
  if (isResumedByUser) return to("claimed");
  if (policy === "off") return to("interrupted", "host_stopped");
  if (row.attempt + 1 > maxAttempts) return to("interrupted", "too_many_attempts");
  return policy === "ask" ? to("paused", "host_stopped") : to("claimed");
}

/** Calls that started are settled with the rest of their journal; calls of a spilled answer are stored with it. */
function callsToSettle(fold: StepFold, { isWhole, end }: FoundSpill) {
  return { alreadySettled: fold.tools, unstored: isWhole ? (end?.calls ?? []) : [] };
}

/** Entries for everything in the journal, above a notice that says why. */
function settleWithNotice(
  run: RunHandle,
  snapshot: Snapshot,
  fold: StepFold,
  rest: TakeOverFacts,
): readonly NewEvent[] {
  const { spill, ends } = rest;
  const options = { partial: "interrupted", mayStartAgain: !ends, spill, fold } as const;
  const leftover = settleJournal(run, snapshot, options);
  const notice = takeOverNotice(run.runId, snapshot.journal, leftover, rest);
  if (notice === null) return leftover.settled;
  const deltas = leftover.dropped.length > 0 ? { deltas: [...leftover.dropped] } : {};
  const noticeId = run.ids.make("notice");
  return [...leftover.settled, run.event("notice.added", { noticeId, ...notice, ...deltas })];
}

/**
 * The last resort: ends a run that the store does not accept as it is. Its output and results are kept if the store
 * accepts them on their own; otherwise one notice replaces all of it, so that the session can continue and every seq is
 * accounted for.
 */
export async function giveUpRun(
  { log, ids, clock }: Pick<ClaimDeps, "log" | "ids" | "clock">,
  owner: OwnerId,
  lease: LeaseRow,
  cause: string,
): Promise<void> {
  let keptOutput: "all" | "nothing" = "all";
  for (;;) {
    const snapshot = await log.store.reads.snapshot(owner, lease.session, {
      limit: maxEntriesPerStep,
    });
    if (snapshot === null || snapshot.run === null) return;
    const { run: row, session } = snapshot;
    const run = new RunHandle(log, ids, { owner, runId: row.id, lease, head: session.head }, clock);
    const state = row.cancelRequested ? "cancelled" : "failed";
    const leftover =
      keptOutput === "all"
        ? await settleAll(log.store.reads, run, snapshot, cause)
        : dropAll(run, snapshot, cause);
    const events = [...leftover, run.event("run.state", { state, cause })];
    const result = await run.send({ events, expect: { head: session.head } });
    if (result.status !== "refused") return;
    if (result.code === "head_moved") continue;
    if (keptOutput === "nothing") return;
    keptOutput = "nothing";
  }
}

async function settleAll(
  reads: Reads,
  run: RunHandle,
  snapshot: Snapshot,
  cause: string,
): Promise<readonly NewEvent[]> {
  const fold = foldStep(snapshot.journal);
  const leftover = settleJournal(run, snapshot, { partial: "failed", mayStartAgain: false, fold });
  const { owner, session } = run;
  const stepEntries = { owner, session, entries: snapshot.entries.entries };
  const unrun = await settleUnrunCalls(reads, run, stepEntries, {
    alreadySettled: fold.tools,
    unstored: [],
  });
  const warning = leftover.unknown === "" ? "" : ` ${leftover.unknown}`;
  const text = `The run could not go on, and has ended. What was said and done until then is above.${warning}`;
  return [
    ...leftover.settled,
    ...unrun,
    givenUpNotice(run, { kind: "given_up", text, cause }, leftover.dropped),
  ];
}

function dropAll(run: RunHandle, { journal }: Snapshot, cause: string): readonly NewEvent[] {
  const text = "What was being written could not be stored, and the run has ended.";
  return [givenUpNotice(run, { kind: "not_kept", text, cause }, deltaRanges(journal))];
}

function givenUpNotice(
  run: RunHandle,
  { kind, text, cause }: { readonly kind: string; readonly text: string; readonly cause: string },
  deltas: readonly (readonly [Seq, Seq])[],
): NewEvent {
  return run.event("notice.added", {
    noticeId: run.ids.make("notice"),
    kind,
    text,
    details: { cause, runId: run.runId },
    ...(deltas.length > 0 && { deltas: deltas.map(([from, to]): [Seq, Seq] => [from, to]) }),
  });
}
