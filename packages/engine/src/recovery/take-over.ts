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
import { awaitsFallback } from "../run/prepare-step.ts";
import { findSpill, type FoundSpill, type SpillDeps } from "./spill.ts";
import { deltaRanges, foldStepInSlices, foldStep, type StepFold } from "../run/fold-step.ts";
import { settleJournal, takeOverNotice, type TakeOverFacts } from "./settle-journal.ts";
import { RunHandle } from "../run/run-handle.ts";

/** What happens to a run whose runner is gone: goes on by itself, waits for a person, or ends. */
export type ResumePolicy = "resume" | "ask" | "off";

const maxAttempts = 3;
/** Enough for the newest message and the results of all of its calls. */
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
 * Takes over a run whose runner is gone. What it had streamed becomes entries above one notice that names the cause; a
 * tool that it had started and that may not be replayed is unknown. A run that rests is left to its person; one that
 * goes on by a person's word was not interrupted, so there is nothing to tell. `null`: there is nothing to go on with.
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
    const place = { session: lease.session, runId: row.id };
    const spill = await findSpill(deps.spills, place, snapshot.journal);
    const next = isAnswerComplete(spill, row) ? completed : decideNext(row, deps.policy);
    const firstSeen = await log.store.now();
    const asked = { owner, session: lease.session, entries: snapshot.entries.entries };
    const isFallbackPending = await awaitsFallback(log.store.reads, run, asked.entries);
    const fold = await foldStepInSlices(deps.clock, snapshot.journal, spill.events);
    const left = [
      ...settleWithNotice(run, snapshot, fold, { ...next, spill, firstSeen }),
      ...(next.ends
        ? await settleUnrunCalls(log.store.reads, run, asked, callsToSettle(fold, spill))
        : []),
    ];
    const marks = next === completed ? memoryMark(deps.memoryOwnerOf, run) : [];
    const events = withIngestId([...left, next.event(run), ...marks], spill);
    const result = await run.send({ events, expect: { head: session.head } });
    if (result.status === "refused" && result.code === "head_moved") continue;
    if (result.status === "committed" && spill.answer.status === "output") {
      await deps.spills?.forget(spill.answer.header);
      deps.onSpillState?.(lease.session, "restored");
    }
    if (result.status === "committed" && next.goesOn)
      return {
        run,
        position: { ...positionOf(row, result.at), ...(isFallbackPending && fallbackPosition) },
      };
    if (result.status !== "committed") run.loseBy(result);
    if (run.refusal !== null) await giveUpRun(deps, owner, lease, run.refusal.code);
    return null;
  }
}

/** Where the run's message came from, as its entry says. A step of many entries may have left it behind. */
function laneOfRun({ entries }: Snapshot, { id }: RunRow): LaneKey | null {
  const message = entries.entries.findLast(
    ({ type, runId }) => type === "message.user" && runId === id,
  );
  return laneKey.safeParse(message?.data["lane"]).data ?? null;
}

/** Limits go on counting where they stood: what a run has used is in its row, not in a runner's memory. */
function positionOf({ step, tries, startedAt, restedMs }: RunRow, now: number): RunPosition {
  const usedMs = Math.max(0, now - (startedAt ?? now) - restedMs);
  return { step, tries, isFallbackPending: false, usedMs, journal: [] };
}

const fallbackPosition = { tries: 0, isFallbackPending: true } as const;

interface NextMove {
  readonly goesOn: boolean;
  readonly ends: boolean;
  event(run: RunHandle): NewEvent;
}

/** The answer was whole when its runner let go: it only had to be stored. */
const completed: NextMove = {
  goesOn: false,
  ends: true,
  event: (run) => run.event("run.state", { state: "completed" }),
};

function isAnswerComplete(
  { isWhole, end, hasMessage: saysSomething }: FoundSpill,
  row: RunRow,
): boolean {
  return isWhole && saysSomething && end?.calls.length === 0 && !row.cancelRequested;
}

/** A spill is brought in by the commit that its header names: once, whoever does it. */
function withIngestId(events: readonly NewEvent[], { answer }: FoundSpill): readonly NewEvent[] {
  if (answer.status !== "output") return events;
  return events.map((event, index) =>
    index === 0 ? { ...event, id: answer.header.ingestId } : event,
  );
}

/** What a take-over does with the run, by how often it was taken over and what the person wants. */
function decideNext(row: RunRow, policy: ResumePolicy): NextMove {
  const isByWord = isResumedByPerson(row);
  const attempt = row.attempt + (isByWord ? 0 : 1);
  const to = (state: "claimed" | "paused" | "interrupted" | "cancelled", cause?: string) => ({
    goesOn: state === "claimed",
    ends: terminalStates.has(state),
    event: (run: RunHandle) =>
      run.event("run.state", { state, attempt, ...(cause !== undefined && { cause }) }),
  });
  // P6: a run that was cancelled is never resumed.
  if (row.cancelRequested) return to("cancelled");
  // Taken: from here on the cause is gone, and a runner that dies is a runner that dies.
  if (isByWord) return to("claimed");
  if (policy === "off") return to("interrupted", "host_stopped");
  if (row.attempt + 1 > maxAttempts) return to("interrupted", "too_many_attempts");
  return policy === "ask" ? to("paused", "host_stopped") : to("claimed");
}

/** What was begun is told with the rest of its journal; the calls of a spilled answer are stored with it. */
function callsToSettle(fold: StepFold, { isWhole, end }: FoundSpill) {
  return { alreadySettled: fold.tools, unstored: isWhole ? (end?.calls ?? []) : [] };
}

/** Entries for everything that the journal holds, above a notice that says why. */
function settleWithNotice(
  run: RunHandle,
  snapshot: Snapshot,
  fold: StepFold,
  rest: TakeOverFacts,
): readonly NewEvent[] {
  const { spill, ends } = rest;
  const options = { partial: "interrupted", mayStartAgain: !ends, spill, fold } as const;
  const left = settleJournal(run, snapshot, options);
  const notice = takeOverNotice(run.runId, snapshot.journal, left, rest);
  if (notice === null) return left.settled;
  const deltas = left.dropped.length > 0 ? { deltas: [...left.dropped] } : {};
  const noticeId = run.ids.make("notice");
  return [...left.settled, run.event("notice.added", { noticeId, ...notice, ...deltas })];
}

/**
 * The last resort: ends a run that the store will not let go on as it is. What it had said and done is kept if the store
 * takes it by itself; if not, a notice stands for all of it, so that the session goes on and every number is accounted for.
 */
export async function giveUpRun(
  { log, ids, clock }: Pick<ClaimDeps, "log" | "ids" | "clock">,
  owner: OwnerId,
  lease: LeaseRow,
  cause: string,
): Promise<void> {
  let kept: "all" | "nothing" = "all";
  for (;;) {
    const snapshot = await log.store.reads.snapshot(owner, lease.session, {
      limit: maxEntriesPerStep,
    });
    if (snapshot === null || snapshot.run === null) return;
    const { run: row, session } = snapshot;
    const run = new RunHandle(log, ids, { owner, runId: row.id, lease, head: session.head }, clock);
    const state = row.cancelRequested ? "cancelled" : "failed";
    const left =
      kept === "all"
        ? await settleAll(log.store.reads, run, snapshot, cause)
        : dropAll(run, snapshot, cause);
    const events = [...left, run.event("run.state", { state, cause })];
    const result = await run.send({ events, expect: { head: session.head } });
    if (result.status !== "refused") return;
    if (result.code === "head_moved") continue;
    if (kept === "nothing") return;
    kept = "nothing";
  }
}

async function settleAll(
  reads: Reads,
  run: RunHandle,
  snapshot: Snapshot,
  cause: string,
): Promise<readonly NewEvent[]> {
  const fold = foldStep(snapshot.journal);
  const left = settleJournal(run, snapshot, { partial: "failed", mayStartAgain: false, fold });
  const { owner, session } = run;
  const asked = { owner, session, entries: snapshot.entries.entries };
  const unrun = await settleUnrunCalls(reads, run, asked, {
    alreadySettled: fold.tools,
    unstored: [],
  });
  const warning = left.unknown === "" ? "" : ` ${left.unknown}`;
  const text = `The run could not go on, and has ended. What was said and done until then is above.${warning}`;
  return [
    ...left.settled,
    ...unrun,
    givenUpNotice(run, { kind: "given_up", text, cause }, left.dropped),
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
