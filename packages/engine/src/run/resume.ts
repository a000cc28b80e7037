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
  /** Names the command: sent again, it gets the first answer again. */
  readonly command: EventId;
}

export type ResumeResult =
  /** The run that goes on: this one, or the one that continues it. */
  | { readonly status: "resumed"; readonly runId: RunId; readonly session: RunRow["session"] }
  | { readonly status: "not_found" }
  | Exclude<CommitResult, { status: "committed" }>;

/**
 * Goes on by a person's word. A run that is paused goes on itself, and no attempt is counted. One that has ended is
 * continued by a new run that names it and waits its turn in the inbox, like everything that is claimed.
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
    // Read behind the snapshot: if it has moved since then, the head has too.
    const now = snapshot && (await reads.run(owner, runId));
    if (now === null || snapshot === null) return { status: "not_found" };
    // One continuation is enough, however often it is asked for.
    const waiting = snapshot.inbox.find(({ hash }) => hash === runId);
    if (waiting !== undefined) return { status: "resumed", session, runId: waiting.runId };
    const goesOn =
      now.state === "paused" ? resumeEvents(target) : continueEndedRun(ids, target, now, snapshot);
    if ("status" in goesOn) return goesOn;
    const expect = { head: snapshot.session.head };
    const result = await log.commit({ owner, session, expect, events: goesOn.events });
    if (result.status === "committed") return { status: "resumed", session, runId: goesOn.runId };
    if (result.status === "failed" || result.code !== "head_moved") return result;
  }
}

interface Continuation {
  readonly runId: RunId;
  readonly events: Commit["events"];
}

function resumeEvents({ runId, command }: ResumeTarget): Continuation {
  const word = { state: "claimed", cause: "resumed" } as const;
  return { runId, events: [newEvent(command, "run.state", word, runId)] };
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
