import {
  type EventId,
  type IdSource,
  newEvent,
  type OwnerId,
  type RunId,
  terminalStates,
} from "@holdfast/protocol";

import type { Log } from "../log/log.ts";
import type { Commit, CommitResult, Refused } from "../ports/commit.ts";
import type { RunRow } from "../ports/rows.ts";
import type { Snapshot } from "../ports/reads.ts";

export interface ResumeTarget {
  readonly owner: OwnerId;
  readonly runId: RunId;
  /** Identifies the command: repeating it returns the first answer. */
  readonly command: EventId;
}

export type ResumeResult =
  /** The run that continues: this one, or a new one that continues it. */
  | { readonly status: "resumed"; readonly runId: RunId; readonly session: RunRow["session"] }
  | { readonly status: "not_found" }
  | Exclude<CommitResult, { status: "committed" }>;

/**
 * Resumes a run at a person's request. A paused run resumes itself, without counting an attempt. An ended run is
 * continued by a new run that names it and waits its turn in the inbox like any other.
 */
export async function resumeRun(
  log: Log,
  ids: IdSource,
  target: ResumeTarget,
): Promise<ResumeResult> {
  const { owner, runId, command } = target;
  const { reads } = log.store;
  for (;;) {
    const run = await reads.run(owner, runId);
    if (run === null) return { status: "not_found" };
    const { session } = run;
    const done = await reads.event(owner, session, command);
    if (done !== null) return { status: "resumed", session, runId: done.runId ?? runId };
    const snapshot = await reads.snapshot(owner, session, { limit: 10 });
    // Read after the snapshot: if the run has moved since, so has the head, and the commit is refused.
    const current = snapshot && (await reads.run(owner, runId));
    if (current === null || snapshot === null) return { status: "not_found" };
    // One continuation is enough, however often it is requested.
    const waiting = snapshot.inbox.find(({ hash }) => hash === runId);
    if (waiting !== undefined) return { status: "resumed", session, runId: waiting.runId };
    const continuation =
      current.state === "paused"
        ? resumeEvents(target)
        : continueEndedRun(ids, target, current, snapshot);
    if ("status" in continuation) return continuation;
    const expect = { head: snapshot.session.head };
    const result = await log.commit({ owner, session, expect, events: continuation.events });
    if (result.status === "committed")
      return { status: "resumed", session, runId: continuation.runId };
    if (result.status === "failed" || result.code !== "head_moved") return result;
  }
}

interface Continuation {
  readonly runId: RunId;
  readonly events: Commit["events"];
}

function resumeEvents({ runId, command }: ResumeTarget): Continuation {
  const resumed = { state: "claimed", cause: "resumed" } as const;
  return { runId, events: [newEvent(command, "run.state", resumed, runId)] };
}

function continueEndedRun(
  ids: IdSource,
  { command }: ResumeTarget,
  run: RunRow,
  { session, entries }: Snapshot,
): Continuation | Refused {
  if (!terminalStates.has(run.state) || session.liveRun !== null)
    return refuse("run_live", "A run is going on in this session.");
  if (run.state === "completed")
    return refuse("run_ended", "The run has completed: there is nothing to go on with.");
  const newest = entries.entries.findLast((entry) => entry.runId !== undefined);
  if (newest?.runId !== run.id)
    return refuse("head_moved", "The conversation has gone on since this run, or it never began.");
  const runId = ids.make("run");
  const accepted = newEvent(
    command,
    "input.accepted",
    {
      messageId: ids.make("message"),
      runId,
      clientId: command,
      hash: run.id,
      mode: "queue",
      text: "",
      continues: run.id,
    },
    runId,
  );
  return { runId, events: [accepted] };
}

function refuse(code: Refused["code"], message: string): Refused {
  return { status: "refused", code, message };
}
