import {
  type IdSource,
  newEvent,
  type NewEvent,
  type OwnerId,
  type RunId,
  terminalStates,
} from "@holdfast/protocol";

import { type Log } from "../log/log.ts";
import { isResting } from "../log/fold-rows.ts";
import type { CommitResult } from "../ports/commit.ts";
import type { InputRow, RunRow } from "../ports/rows.ts";
import type { Reads, Snapshot } from "../ports/reads.ts";
import { settleUnrunCalls, type RunEvents, createRunEvents } from "./settle.ts";
import { foldStep } from "./fold-step.ts";
import { settleJournal } from "../recovery/settle-journal.ts";
import { maxEntriesPerStep } from "../recovery/take-over.ts";

export type CancelResult =
  | { readonly status: "requested" | "ended" }
  | { readonly status: "not_found" }
  | Exclude<CommitResult, { status: "committed" }>;

/**
 * P6: a durable request, from any process; repeating it changes nothing. A run at rest ends right here, one under way
 * is ended by its runner within a second.
 */
export async function requestCancel(
  log: Log,
  ids: IdSource,
  owner: OwnerId,
  runId: RunId,
): Promise<CancelResult> {
  const { reads } = log.store;
  for (;;) {
    const first = await reads.run(owner, runId);
    const limit = first !== null && isResting(first.state) ? maxEntriesPerStep : 1;
    const snapshot = first && (await reads.snapshot(owner, first.session, { limit }));
    // Read after the snapshot: if the run has moved since, so has the head, and the commit is refused.
    const run = snapshot && (await reads.run(owner, runId));
    if (run === null || snapshot === null) return { status: "not_found" };
    if (terminalStates.has(run.state)) return { status: "ended" };
    if (isResting(run.state) && limit === 1) continue;
    // No runner works on it, so nobody else would end it.
    const atRest = run.state === "queued" || isResting(run.state);
    if (run.cancelRequested && !atRest) return { status: "requested" };
    const result = await log.commit({
      owner,
      session: run.session,
      events: atRest ? await cancelEvents(reads, ids, run, snapshot) : [cancelEvent(ids, runId)],
      ...(atRest && { expect: { head: snapshot.session.head } }),
    });
    if (result.status === "committed") return { status: atRest ? "ended" : "requested" };
    if (result.status === "failed" || result.code !== "head_moved") return result;
  }
}

function cancelEvent(ids: IdSource, runId: RunId): NewEvent {
  return newEvent(ids.make("event"), "run.cancel", {}, runId);
}

/** One commit clears everything: the queued message, the journal's output and the run itself. */
async function cancelEvents(
  reads: Reads,
  ids: IdSource,
  run: RunRow,
  snapshot: Snapshot,
): Promise<readonly NewEvent[]> {
  const input = snapshot.inbox.find((queued) => queued.runId === run.id);
  const isLive = snapshot.run?.id === run.id;
  const writer = createRunEvents(ids, run.id);
  return [
    cancelEvent(ids, run.id),
    ...(input === undefined ? [] : [inputRemoved(ids, input)]),
    ...(isLive ? await settleCancelled(reads, writer, run.state, snapshot) : []),
    newEvent(ids.make("event"), "run.state", { state: "cancelled" }, run.id),
  ];
}

function inputRemoved(ids: IdSource, { messageId }: InputRow): NewEvent {
  return newEvent(ids.make("event"), "input.removed", { messageId });
}

/** Tools that ended keep their results, even though the run that called them goes no further. */
async function settleCancelled(
  reads: Reads,
  run: RunEvents,
  state: RunRow["state"],
  snapshot: Snapshot,
): Promise<readonly NewEvent[]> {
  const { owner, id: session } = snapshot.session;
  const fold = foldStep(snapshot.journal);
  const options = { partial: "cancelled", mayStartAgain: false, fold } as const;
  const { settled, dropped } = settleJournal(run, snapshot, options);
  const stepEntries = { owner, session, entries: snapshot.entries.entries };
  const unrun = isResting(state)
    ? await settleUnrunCalls(reads, run, stepEntries, { alreadySettled: fold.tools })
    : [];
  if (dropped.length === 0) return [...settled, ...unrun];
  const notice = run.event("notice.added", {
    noticeId: run.ids.make("notice"),
    kind: "cancelled",
    text: "The run was cancelled.",
    deltas: [...dropped],
  });
  return [...settled, ...unrun, notice];
}
