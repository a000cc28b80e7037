import {
  type IdSource,
  type MessageId,
  noRights,
  type OwnerId,
  type Part,
  type Rights,
  type SessionId,
  newEvent,
  type NewEvent,
  type StoredEvent,
} from "@holdfast/protocol";
import type { Log } from "../log/log.ts";
import type { Recall } from "../memory/recall.ts";
import type { Clock } from "../ports/clock.ts";
import type { Holder, InputContent, InputRow, LeaseRow } from "../ports/rows.ts";
import { RunHandle } from "./run-handle.ts";
import type { RunEvents } from "./settle.ts";
import { type ModeDeps, modeParts } from "./session-mode.ts";
import { narrowRights, recordedRights, type RightsDeps, rightsOfInput } from "./run-rights.ts";

export interface ClaimDeps extends RightsDeps, ModeDeps {
  readonly log: Log;
  readonly ids: IdSource;
  readonly clock: Clock;
  /** A new one for each call: whoever acquires again as the same holder gets the fence of writes still under way. */
  readonly holder: () => Holder;
  readonly leaseMs: number;
  /** Finds what the model gets alongside a message. It is quick and never fails. */
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
 * The only way a run starts: takes the next queued message and makes it an entry, under the lease. Only now does it
 * join the conversation, so it never precedes the answer that was running when it arrived. `run_live`: the session
 * has a run that has not ended, which must end first.
 */
export async function claimNext(
  deps: ClaimDeps,
  owner: OwnerId,
  lease: LeaseRow,
): Promise<RunHandle | "run_live" | "nothing"> {
  const { log, ids, clock, recall } = deps;
  const recalled = new Map<MessageId, readonly Part[]>();
  for (;;) {
    const snapshot = await log.store.reads.snapshot(owner, lease.session, { limit: 1 });
    if (snapshot === null) return "nothing";
    if (snapshot.run !== null) return "run_live";
    const input = nextInput(snapshot.inbox);
    if (input === undefined) return "nothing";
    const { head } = snapshot.session;
    const { runId, lane, messageId, content } = input;
    const rights = await rightsOfInput(deps, { owner, session: lease.session }, input);
    if (recall !== undefined && content !== null && !recalled.has(messageId)) {
      const { text, attachments } = content;
      const { memory } = rights;
      const question = { owner, session: lease.session, text, attachments, memory };
      recalled.set(messageId, await recall(question));
      // Read again: the session may have moved on during the recall.
      continue;
    }
    const run = new RunHandle(log, ids, { owner, runId, lease, head, lane }, clock);
    const attached = [
      ...(recalled.get(messageId) ?? []),
      ...(await modeParts(deps, snapshot.session, rights)),
    ];
    const events = [
      run.event("run.state", { state: "claimed" }),
      inputEntry(run, input, { rights, attached }),
    ];
    const result = await run.send({ events, expect: { head } });
    if (result.status === "committed") return run;
    if (result.status !== "refused" || result.code !== "head_moved") return "nothing";
  }
}

/** An interrupting message goes first; the others go in order of arrival. */
function nextInput(inbox: readonly InputRow[]): InputRow | undefined {
  return inbox.find((input) => input.mode === "interrupt") ?? inbox[0];
}

/**
 * Turns a queued message into its entry. One without content only continues another run: it adds nothing to the
 * conversation and just leaves the inbox.
 */
export function inputEntry(
  run: RunEvents,
  input: InputRow,
  {
    rights,
    attached = [],
  }: { readonly rights: Rights; readonly attached?: readonly Part[] | undefined },
): NewEvent {
  const { messageId, clientId, lane, content } = input;
  if (isContinuation(input)) return run.event("input.removed", { messageId });
  const text: Part[] = content === null || content.text === "" ? [] : [textPartOf(content)];
  return run.event("message.user", {
    messageId,
    parts: [...text, ...(content?.attachments ?? []), ...(content?.attached ?? []), ...attached],
    clientId,
    ...(lane !== null && { lane }),
    ...recordedRights(rights),
  });
}

function textPartOf({ text, quoted, taint = [] }: InputContent): Part {
  return {
    type: "text",
    text,
    ...(quoted && { quoted }),
    ...(taint.length > 0 && { taint: [...taint] }),
  };
}

/** Every message from a person has text or an attachment. */
function isContinuation({ content }: InputRow): boolean {
  return content !== null && content.text === "" && content.attachments.length === 0;
}

export interface SteerDeps extends RightsDeps, ModeDeps {
  readonly log: Log;
  /** Stores a message's attachments where tools can find them and says where. It never fails. */
  readonly placeAttachments?: Recall;
}

/** `/name` at the start is for whoever places attachments to understand. */
function mayNameSkill({ content }: InputRow): boolean {
  return content?.text.startsWith("/") === true;
}

function hasAttachments({ content }: InputRow): boolean {
  return content !== null && content.attachments.length > 0;
}

/**
 * Gives the model the queued steering messages before its next step, and returns how many. Each steering message has a
 * run of its own, which completes here. One that arrived before this run started was meant for an earlier run and waits
 * its turn.
 */
export async function takeSteering(
  deps: SteerDeps,
  run: RunHandle,
  { entries, rights: current }: { entries: readonly StoredEvent[]; rights: Rights },
): Promise<number> {
  const { log, placeAttachments } = deps;
  const { owner, session, runId } = run;
  const firstMessage = entries.find(
    (entry) => entry.type === "message.user" && entry.runId === runId,
  );
  const isForThisRun = ({ mode, seq }: InputRow) =>
    mode === "steer" && seq > (firstMessage?.seq ?? 0);
  const placed = new Map<MessageId, readonly Part[]>();
  for (;;) {
    const snapshot = await log.store.reads.snapshot(owner, session, { limit: 1 });
    const steering = snapshot?.inbox.filter(isForThisRun) ?? [];
    if (snapshot === null || steering.length === 0) return 0;
    const unplaced = steering.filter(
      (input) => (hasAttachments(input) || mayNameSkill(input)) && !placed.has(input.messageId),
    );
    if (placeAttachments !== undefined && unplaced.length > 0) {
      for (const input of unplaced) {
        const { messageId, content } = input;
        const { memory } = await rightsOfInput(deps, run, input);
        if (content !== null)
          placed.set(messageId, await placeAttachments({ owner, session, ...content, memory }));
      }
      // Read again: the session may have moved on while the attachments were stored.
      continue;
    }
    const added = await Promise.all(steering.map((input) => rightsOfInput(deps, run, input)));
    let rights = current;
    const narrowed = added.map((each) => (rights = narrowRights(rights, each)));
    const modes = await Promise.all(
      narrowed.map((each) => modeParts(deps, snapshot.session, each)),
    );
    const events = steering.flatMap((input, index) => [
      inputEntry(run, input, {
        rights: narrowed[index] ?? noRights,
        attached: [...(placed.get(input.messageId) ?? []), ...(modes[index] ?? [])],
      }),
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
