import {
  type Attachment,
  type IdSource,
  type InputMode,
  type LaneKey,
  type MessageId,
  newEvent,
  type NewEvent,
  type OwnerId,
  type RunId,
  type Seq,
  type SessionId,
} from "@holdfast/protocol";

import type { Log } from "../log/log.ts";
import type { CommitResult, Failed, Refused } from "../ports/commit.ts";
import { sha256OfJson } from "../hash.ts";
import { sizeLimits, jsonSize } from "./settle.ts";

export interface NewInput {
  readonly owner: OwnerId;
  readonly session: SessionId;
  /** The client's own name for its message, unique in the session for life. */
  readonly clientId: string;
  readonly text: string;
  readonly attachments?: readonly Attachment[];
  readonly mode?: InputMode;
  readonly lane?: LaneKey;
  /** It came from a platform: its answer is owed to the lane from here on. */
  readonly inbound?: { readonly key: string; readonly replyTo?: string };
}

export type Admission =
  | {
      readonly status: "accepted";
      readonly messageId: MessageId;
      readonly runId: RunId;
      readonly seq: Seq;
      readonly repeated: boolean;
    }
  | Refused
  | Failed;

/**
 * P1: accepts a message in one transaction; the answer comes after its sync. The same message again (a client that
 * did not hear the answer) gets the stored answer; other content under the same client id is a conflict.
 */
export async function admitMessage(log: Log, ids: IdSource, input: NewInput): Promise<Admission> {
  const { owner, session, mode } = input;
  const { events, refused, answer } = await acceptInput(ids, input);
  if (refused !== undefined) return refused;
  const interrupting = mode === "interrupt" ? await cancelLiveRun(log, ids, owner, session) : [];
  return answer(await log.commit({ owner, session, events: [...events, ...interrupting] }));
}

/** What accepts a message, for a commit that may carry more, and how to read that commit's result. */
export async function acceptInput(
  ids: IdSource,
  input: NewInput,
): Promise<{
  events: readonly NewEvent[];
  refused: Refused | undefined;
  answer: (result: CommitResult) => Admission;
}> {
  const { clientId, text, attachments = [], mode = "queue", lane, inbound } = input;
  const refused = refusalOf(text, attachments);
  const runId = ids.make("run");
  const accepted = newEvent(
    ids.make("event"),
    "input.accepted",
    {
      messageId: ids.make("message"),
      runId,
      clientId,
      hash: await sha256OfJson({ text, attachments, mode }),
      mode,
      text,
      ...(attachments.length > 0 && { attachments: [...attachments] }),
      ...(lane !== undefined && { lane }),
      // P11: accepted and owed by the same transaction.
      ...(inbound !== undefined && { inbound: { ...inbound, delivery: ids.make("delivery") } }),
    },
    runId,
  );
  // The acceptance is also the beginning of its run: `queued`.
  return { events: [accepted], refused, answer: admissionOf };
}

/** What is accepted must fit when it becomes an entry, with what is then added to it. */
function refusalOf(text: string, attachments: readonly Attachment[]): Refused | undefined {
  if (text.trim() === "" && attachments.length === 0) {
    return refuse("invalid_event", "A message needs words or an attachment.");
  }
  if (jsonSize({ text, attachments }) <= sizeLimits.input) return undefined;
  return refuse("payload_too_large", "The message is too long. Attach it as a file instead.");
}

function refuse(code: Refused["code"], message: string): Refused {
  return { status: "refused", code, message };
}

function admissionOf(result: CommitResult): Admission {
  if (result.status !== "committed") return result;
  const { input, repeated = false } = result;
  if (input === undefined) throw new Error("A commit with an input was answered without it.");
  return { status: "accepted", ...input, repeated };
}

/** Cancelling a run that ends at this moment is harmless, so the run that was live when we looked is enough. */
async function cancelLiveRun(
  log: Log,
  ids: IdSource,
  owner: OwnerId,
  session: SessionId,
): Promise<readonly NewEvent[]> {
  const row = await log.store.reads.session(owner, session);
  if (row === null || row.liveRun === null) return [];
  return [newEvent(ids.make("event"), "run.cancel", { by: "interrupt" }, row.liveRun)];
}

interface QueuedInputTarget {
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly messageId: MessageId;
}

/** Changes a message that is still waiting; the store refuses one that was taken (`input_claimed`) or never was. */
export function changeInput(
  log: Log,
  ids: IdSource,
  { owner, session, messageId }: QueuedInputTarget,
  { text, attachments }: { readonly text: string; readonly attachments?: readonly Attachment[] },
): Promise<CommitResult> {
  const refused = refusalOf(text, attachments ?? []);
  if (refused !== undefined) return Promise.resolve(refused);
  const changed = newEvent(ids.make("event"), "input.changed", {
    messageId,
    text,
    ...(attachments && { attachments: [...attachments] }),
  });
  return log.commit({ owner, session, events: [changed] });
}

/** Takes a message that is still waiting out of the inbox. Its run ends as cancelled, without having begun. */
export async function removeInput(
  log: Log,
  ids: IdSource,
  { owner, session, messageId }: QueuedInputTarget,
): Promise<CommitResult> {
  const snapshot = await log.store.reads.snapshot(owner, session, { limit: 1 });
  const input = snapshot?.inbox.find((each) => each.messageId === messageId);
  const removed = newEvent(ids.make("event"), "input.removed", { messageId });
  const ended = { state: "cancelled", cause: "removed" } as const;
  // A message that is not waiting has no run to end here; the store says what became of it.
  const events = input
    ? [removed, newEvent(ids.make("event"), "run.state", ended, input.runId)]
    : [removed];
  return log.commit({ owner, session, events });
}
