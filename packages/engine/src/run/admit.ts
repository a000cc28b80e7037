import {
  type AttachedPart,
  type Attachment,
  type IdSource,
  type InputMode,
  isUnlimited,
  type LaneKey,
  type MessageId,
  newEvent,
  type NewEvent,
  type OwnerId,
  type QuotedRanges,
  type Rights,
  type RunId,
  type Seq,
  type SessionId,
  type TaintSource,
} from "@holdfast/protocol";

import type { Log } from "../log/log.ts";
import type { CommitResult, Failed, Refused } from "../ports/commit.ts";
import { sha256OfJson } from "../hash.ts";
import { sizeLimits, jsonSize } from "./settle.ts";

export interface NewInput {
  readonly owner: OwnerId;
  readonly session: SessionId;
  /** The client's own id for its message, unique in the session forever. */
  readonly clientId: string;
  readonly text: string;
  readonly attachments?: readonly Attachment[];
  readonly mode?: InputMode;
  readonly lane?: LaneKey;
  /** The message came from a platform, so its lane is owed a reply. */
  readonly inbound?: { readonly key: string; readonly replyTo?: string };
  /** What of the text the sender did not write: a quote, a forwarded message, something pasted. */
  readonly quoted?: QuotedRanges;
  /** What it may cause at most; by default what its lane may. */
  readonly rights?: Rights;
  /** What the text was derived from, if a stranger may have written that. */
  readonly taint?: readonly TaintSource[];
  /** What the model gets alongside it. */
  readonly attached?: readonly AttachedPart[];
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
 * P1: accepts a message in one transaction and answers after the sync. The same message again (from a client that
 * missed the answer) gets the stored answer; different content under the same client id is a conflict.
 */
export async function admitMessage(log: Log, ids: IdSource, input: NewInput): Promise<Admission> {
  const { owner, session, mode } = input;
  const { events, refused, answer } = await acceptInput(ids, input);
  if (refused !== undefined) return refused;
  const interrupting = mode === "interrupt" ? await cancelLiveRun(log, ids, owner, session) : [];
  return answer(await log.commit({ owner, session, events: [...events, ...interrupting] }));
}

/** The events that accept a message, for a commit that may carry more, and how to read that commit's result. */
export async function acceptInput(
  ids: IdSource,
  input: NewInput,
): Promise<{
  events: readonly NewEvent[];
  messageId: MessageId;
  refused: Refused | undefined;
  answer: (result: CommitResult) => Admission;
}> {
  const { clientId, text, attachments = [], mode = "queue", lane, inbound } = input;
  const { rights, taint = [], attached = [] } = input;
  const refused = refusalOf(text, attachments, attached);
  const runId = ids.make("run");
  const messageId = ids.make("message");
  const accepted = newEvent(
    ids.make("event"),
    "input.accepted",
    {
      messageId,
      runId,
      clientId,
      hash: await sha256OfJson({ text, attachments, mode }),
      mode,
      text,
      ...(attachments.length > 0 && { attachments: [...attachments] }),
      ...(lane !== undefined && { lane }),
      ...quotedWithin(text, input.quoted),
      ...(rights !== undefined && !isUnlimited(rights) && { rights }),
      ...(taint.length > 0 && { taint: [...taint] }),
      ...(attached.length > 0 && { attached: [...attached] }),
      // P11: the same transaction accepts the message and records the reply it is owed.
      ...(inbound !== undefined && { inbound: { ...inbound, delivery: ids.make("delivery") } }),
    },
    runId,
  );
  // Accepting a message also creates its run, in state `queued`.
  return { events: [accepted], messageId, refused, answer: admissionOf };
}

/** Ranges outside of the text say nothing. */
function quotedWithin(
  { length }: string,
  quoted: QuotedRanges = [],
): { readonly quoted?: QuotedRanges } {
  const within = quoted
    .map(([from, to]): [number, number] => [from, Math.min(to, length)])
    .filter(([from, to]) => from < to);
  return within.length === 0 ? {} : { quoted: within };
}

/** An accepted message must still fit once it becomes an entry, together with what is added to it then. */
function refusalOf(
  text: string,
  attachments: readonly Attachment[],
  attached: readonly AttachedPart[] = [],
): Refused | undefined {
  if (text.trim() === "" && attachments.length === 0) {
    return refuse("invalid_event", "A message needs words or an attachment.");
  }
  if (jsonSize({ text, attachments, attached }) <= sizeLimits.input) return undefined;
  return refuse("payload_too_large", "The message is too long. Attach it as a file instead.");
}

function refuse(code: Refused["code"], message: string): Refused {
  return { status: "refused", code, message };
}

function admissionOf(result: CommitResult): Admission {
  if (result.status !== "committed") return result;
  const { input, repeated = false } = result;
  if (input === undefined)
    throw new Error("The result of a commit with an input lacks that input.");
  return { status: "accepted", ...input, repeated };
}

/** Reading the live run once is enough: cancelling a run that is just ending is harmless. */
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

type ChangedContent = Pick<NewInput, "text" | "attachments" | "quoted">;

/** Changes a queued message; the store refuses one that was claimed (`input_claimed`) or never existed. */
export function changeInput(
  log: Log,
  ids: IdSource,
  { owner, session, messageId }: QueuedInputTarget,
  { text, attachments, quoted }: ChangedContent,
): Promise<CommitResult> {
  const refused = refusalOf(text, attachments ?? []);
  if (refused !== undefined) return Promise.resolve(refused);
  const changed = newEvent(ids.make("event"), "input.changed", {
    messageId,
    text,
    ...(attachments && { attachments: [...attachments] }),
    ...quotedWithin(text, quoted),
  });
  return log.commit({ owner, session, events: [changed] });
}

/** Removes a queued message from the inbox. Its run ends as cancelled without ever having started. */
export async function removeInput(
  log: Log,
  ids: IdSource,
  { owner, session, messageId }: QueuedInputTarget,
): Promise<CommitResult> {
  const snapshot = await log.store.reads.snapshot(owner, session, { limit: 1 });
  const input = snapshot?.inbox.find((queued) => queued.messageId === messageId);
  const removed = newEvent(ids.make("event"), "input.removed", { messageId });
  const ended = { state: "cancelled", cause: "removed" } as const;
  // A message that is no longer queued has no run to end here; the store reports what became of it.
  const events = input
    ? [removed, newEvent(ids.make("event"), "run.state", ended, input.runId)]
    : [removed];
  return log.commit({ owner, session, events });
}
