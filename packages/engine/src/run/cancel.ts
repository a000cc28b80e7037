import {
  type IdSource,
  newEvent,
  type NewEvent,
  type OwnerId,
  type RunId,
  terminalStates,
} from "@holdfast/protocol";

import { type Log } from "../log/log.ts";
import { rests } from "../log/run-states.ts";
import type { CommitResult } from "../ports/commit.ts";
import type { InputRow, RunRow } from "../ports/rows.ts";
import type { Reads, Snapshot } from "../ports/reads.ts";
import { tellUnrun } from "./begun-calls.ts";
import { foldStep } from "./fold-step.ts";
import { leftoversOf } from "../recovery/settle-journal.ts";
import { entriesOfAStep } from "../recovery/take-over.ts";
import { type RunWriter, writerFor } from "./settle.ts";

export type CancelResult =
  | { readonly status: "requested" | "ended" }
  | { readonly status: "not_found" }
  | Exclude<CommitResult, { status: "committed" }>;

/**
 * P6: a durable wish, from any process. Asking again changes nothing. A run that rests ends here and now; one that is
 * under way is ended by its runner within a second.
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
    const limit = first !== null && rests(first.state) ? entriesOfAStep : 1;
    const snapshot = first && (await reads.snapshot(owner, first.session, { limit }));
    // Read behind the snapshot: if it has moved since then, the head has too.
    const run = snapshot && (await reads.run(owner, runId));
    if (run === null || snapshot === null) return { status: "not_found" };
    if (terminalStates.has(run.state)) return { status: "ended" };
    if (rests(run.state) && limit === 1) continue;
    // Nobody works on it, so nobody else would end it.
    const atRest = run.state === "queued" || rests(run.state);
    if (run.cancelRequested && !atRest) return { status: "requested" };
    const result = await log.commit({
      owner,
      session: run.session,
      events: atRest ? await endAtRest(reads, ids, run, snapshot) : [wish(ids, runId)],
      ...(atRest && { expect: { head: snapshot.session.head } }),
    });
    if (result.status === "committed") return { status: atRest ? "ended" : "requested" };
    if (result.status === "failed" || result.code !== "head_moved") return result;
  }
}

function wish(ids: IdSource, runId: RunId): NewEvent {
  return newEvent(ids.make("event"), "run.cancel", {}, runId);
}

/** One commit clears all of it: the message that waited, what the journal held, the run itself. */
async function endAtRest(
  reads: Reads,
  ids: IdSource,
  run: RunRow,
  snapshot: Snapshot,
): Promise<readonly NewEvent[]> {
  const input = snapshot.inbox.find((each) => each.runId === run.id);
  const isLive = snapshot.run?.id === run.id;
  const writer = writerFor(ids, run.id);
  return [
    wish(ids, run.id),
    ...(input === undefined ? [] : [removed(ids, input)]),
    ...(isLive ? await cancelledLeftovers(reads, writer, run.state, snapshot) : []),
    newEvent(ids.make("event"), "run.state", { state: "cancelled" }, run.id),
  ];
}

function removed(ids: IdSource, { messageId }: InputRow): NewEvent {
  return newEvent(ids.make("event"), "input.removed", { messageId });
}

/** What a tool that ended has done is told, though the run that asked for it goes no further. */
async function cancelledLeftovers(
  reads: Reads,
  run: RunWriter,
  state: RunRow["state"],
  snapshot: Snapshot,
): Promise<readonly NewEvent[]> {
  const { owner, id: session } = snapshot.session;
  const fold = foldStep(snapshot.journal);
  const options = { partial: "cancelled", mayStartAgain: false, fold } as const;
  const { settled, dropped } = leftoversOf(run, snapshot, options);
  const place = { owner, session, entries: snapshot.entries.entries };
  const unrun = rests(state) ? await tellUnrun(reads, run, place, { told: fold.tools }) : [];
  if (dropped.length === 0) return [...settled, ...unrun];
  const notice = run.event("notice.added", {
    noticeId: run.ids.make("notice"),
    kind: "cancelled",
    text: "The run was cancelled.",
    deltas: [...dropped],
  });
  return [...settled, ...unrun, notice];
}
