import {
  type IdSource,
  type MessageId,
  type OwnerId,
  type Part,
  type SessionId,
  newEvent,
  type NewEvent,
  type StoredEvent,
} from "@holdfast/protocol";
import type { Log } from "../log/log.ts";
import type { Recall } from "../memory/recall.ts";
import type { Clock } from "../ports/clock.ts";
import type { Holder, InputRow, LeaseRow } from "../ports/rows.ts";
import { RunHandle } from "./run-handle.ts";
import type { RunEvents } from "./settle.ts";

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

/**
 * A waiting message as the entry that it becomes. One without words says that its run continues another: it has nothing to
 * add to the conversation, and is gone from the inbox.
 */
export function inputEntry(
  run: RunEvents,
  input: InputRow,
  attached: readonly Part[] = [],
): NewEvent {
  const { messageId, clientId, lane, content } = input;
  if (isContinuation(input)) return run.event("input.removed", { messageId });
  const text: Part[] =
    content === null || content.text === "" ? [] : [{ type: "text", text: content.text }];
  return run.event("message.user", {
    messageId,
    parts: [...text, ...(content?.attachments ?? []), ...attached],
    clientId,
    ...(lane !== null && { lane }),
  });
}

/** Words or an attachment are asked of every message that a person sends. */
function isContinuation({ content }: InputRow): boolean {
  return content !== null && content.text === "" && content.attachments.length === 0;
}

export interface SteerDeps {
  readonly log: Log;
  /** Puts what is attached to a message where tools find it, and says where. It never fails. */
  readonly placeAttachments?: Recall;
}

function hasAttachments({ content }: InputRow): boolean {
  return content !== null && content.attachments.length > 0;
}

/**
 * Gives the model what was said to steer it, before its next step. A steering message has a run of its own from its
 * acceptance; here that run is done. One that came before this run began was meant for another, and waits for its turn
 * like any other. Returns how many were taken.
 */
export async function takeSteering(
  { log, placeAttachments: place }: SteerDeps,
  run: RunHandle,
  entries: readonly StoredEvent[],
): Promise<number> {
  const { owner, session, runId } = run;
  const begun = entries.find((entry) => entry.type === "message.user" && entry.runId === runId);
  const isForThisRun = ({ mode, seq }: InputRow) => mode === "steer" && seq > (begun?.seq ?? 0);
  const placed = new Map<MessageId, readonly Part[]>();
  for (;;) {
    const snapshot = await log.store.reads.snapshot(owner, session, { limit: 1 });
    const steering = snapshot?.inbox.filter(isForThisRun) ?? [];
    if (snapshot === null || steering.length === 0) return 0;
    const bare = steering.filter((each) => hasAttachments(each) && !placed.has(each.messageId));
    if (place !== undefined && bare.length > 0) {
      for (const { messageId, content } of bare)
        if (content !== null) placed.set(messageId, await place({ owner, session, ...content }));
      // The session may have gone on while they were placed.
      continue;
    }
    const events = steering.flatMap((input) => [
      inputEntry(run, input, placed.get(input.messageId)),
      newEvent(
        run.ids.make("event"),
        "run.state",
        { state: "completed", cause: "steered" },
        input.runId,
      ),
    ]);
    const result = await run.send({ events, expect: { head: snapshot.session.head } });
    if (result.status === "committed") return steering.length;
    if (result.status !== "refused" || result.code !== "head_moved") return 0;
  }
}
