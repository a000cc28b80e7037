import {
  type IdSource,
  newEvent,
  type NewEvent,
  type OwnerId,
  type RunId,
  terminalStates,
} from "@holdfast/protocol";

import { pendingCalls } from "../context/index.ts";
import { type Log, rests } from "../log/index.ts";
import type { CommitResult, InputRow, RunRow, Snapshot } from "../ports/index.ts";
import { leftoversOf } from "./leftovers.ts";
import { entriesOfAStep } from "./recover.ts";
import { type RunWriter, unrunCalls, writerFor } from "./settle.ts";
import { refusals } from "./sort-calls.ts";

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
    const limit = first?.state === "waiting" ? entriesOfAStep : 1;
    const snapshot = first && (await reads.snapshot(owner, first.session, { limit }));
    // Read behind the snapshot: if it has moved since then, the head has too.
    const run = snapshot && (await reads.run(owner, runId));
    if (run === null || snapshot === null) return { status: "not_found" };
    if (terminalStates.has(run.state)) return { status: "ended" };
    if (run.state === "waiting" && first?.state !== "waiting") continue;
    // Nobody works on it, so nobody else would end it.
    const atRest = run.state === "queued" || rests(run.state);
    if (run.cancelRequested && !atRest) return { status: "requested" };
    const result = await log.commit({
      owner,
      session: run.session,
      events: atRest ? endAtRest(ids, run, snapshot) : [wish(ids, runId)],
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
function endAtRest(ids: IdSource, run: RunRow, snapshot: Snapshot): readonly NewEvent[] {
  const input = snapshot.inbox.find((each) => each.runId === run.id);
  const isLive = snapshot.run?.id === run.id;
  const writer = writerFor(ids, run.id);
  const unrun = run.state === "waiting" ? pendingCalls(snapshot.entries.entries) : [];
  return [
    wish(ids, run.id),
    ...(input === undefined ? [] : [removed(ids, input)]),
    ...(isLive ? cancelledLeftovers(writer, snapshot) : []),
    ...unrunCalls(writer, unrun, refusals.cancelled),
    newEvent(ids.make("event"), "run.state", { state: "cancelled" }, run.id),
  ];
}

function removed(ids: IdSource, { messageId }: InputRow): NewEvent {
  return newEvent(ids.make("event"), "input.removed", { messageId });
}

/** What a tool that ended has done is told, though the run that asked for it goes no further. */
function cancelledLeftovers(run: RunWriter, snapshot: Snapshot): readonly NewEvent[] {
  const options = { partial: "cancelled", mayStartAgain: false } as const;
  const { settled, dropped } = leftoversOf(run, snapshot, options);
  if (dropped.length === 0) return settled;
  const notice = run.event("notice.added", {
    noticeId: run.ids.make("notice"),
    kind: "cancelled",
    text: "The run was cancelled.",
    deltas: [...dropped],
  });
  return [...settled, notice];
}
