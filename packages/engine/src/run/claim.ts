import type { IdSource, MessageId, OwnerId, Part, SessionId } from "@holdfast/protocol";

import type { Log } from "../log/log.ts";
import type { Recall } from "../memory/recall.ts";
import type { Clock } from "../ports/clock.ts";
import type { Holder, InputRow, LeaseRow } from "../ports/rows.ts";
import { RunHandle } from "./run-handle.ts";
import { inputEntry } from "./steer.ts";

export interface ClaimDeps {
  readonly log: Log;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly holder: () => Holder;
  readonly leaseMs: number;
  /** What is given to the model beside a message. It takes a short time, and never fails. */
  readonly recall?: Recall;
}

/** Takes the session's run lease. `null`: another runner has it, or the session is gone. */
export async function acquireRunLease(
  { log, holder, leaseMs }: ClaimDeps,
  session: SessionId,
  replacing?: LeaseRow,
): Promise<LeaseRow | null> {
  const result = await log.store.leases.acquire({
    kind: "run",
    session,
    holder: holder(),
    ttlMs: leaseMs,
    ...(replacing && { replacing: replacing.fence }),
  });
  return result.status === "acquired" ? result.lease : null;
}

/**
 * The one door to a run: takes the next waiting message and makes it an entry, under the lease. Only now is it part
 * of the conversation, so it never stands before the answer that was running when it came.
 */
export async function claimNext(
  { log, ids, clock, recall }: ClaimDeps,
  owner: OwnerId,
  lease: LeaseRow,
): Promise<RunHandle | null> {
  const recalled = new Map<MessageId, readonly Part[]>();
  for (;;) {
    const snapshot = await log.store.reads.snapshot(owner, lease.session, { limit: 1 });
    const input =
      snapshot === null || snapshot.run !== null ? undefined : nextInput(snapshot.inbox);
    if (snapshot === null || input === undefined) return null;
    const { head } = snapshot.session;
    const { runId, lane, messageId, content } = input;
    if (recall !== undefined && content !== null && !recalled.has(messageId)) {
      const { text, attachments } = content;
      const question = { owner, session: lease.session, text, attachments };
      recalled.set(messageId, await recall(question));
      // The session may have gone on while we asked.
      continue;
    }
    const run = new RunHandle(log, ids, { owner, runId, lease, head, lane }, clock);
    const events = [
      run.event("run.state", { state: "claimed" }),
      inputEntry(run, input, recalled.get(messageId)),
    ];
    const result = await run.send({ events, expect: { head } });
    if (result.status === "committed") return run;
    if (result.status !== "refused" || result.code !== "head_moved") return null;
  }
}

/** An interrupting message goes before what was waiting; otherwise they go in the order of their arrival. */
function nextInput(inbox: readonly InputRow[]): InputRow | undefined {
  return inbox.find((input) => input.mode === "interrupt") ?? inbox[0];
}
