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

import type { Log } from "../log/index.ts";
import type { CommitResult, Failed, Refused } from "../ports/index.ts";
import { largest, storedSize } from "./sizes.ts";

export interface NewInput {
  readonly owner: OwnerId;
  readonly session: SessionId;
  /** The client's own name for its message, unique in the session for life. */
  readonly clientId: string;
  readonly text: string;
  readonly attachments?: readonly Attachment[];
  readonly mode?: InputMode;
  readonly lane?: LaneKey;
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
  const { events, refused, answer } = await inputEvents(ids, input);
  if (refused !== undefined) return refused;
  const interrupting = mode === "interrupt" ? await cancelLiveRun(log, ids, owner, session) : [];
  return answer(await log.commit({ owner, session, events: [...events, ...interrupting] }));
}

/** What accepts a message, for a commit that may carry more, and how to read that commit's result. */
export async function inputEvents(
  ids: IdSource,
  input: NewInput,
): Promise<{
  events: readonly NewEvent[];
  refused: Refused | undefined;
  answer: (result: CommitResult) => Admission;
}> {
  const { clientId, text, attachments = [], mode = "queue", lane } = input;
  const refused = whyRefused(text, attachments);
  const runId = ids.make("run");
  const accepted = newEvent(
    ids.make("event"),
    "input.accepted",
    {
      messageId: ids.make("message"),
      runId,
      clientId,
      hash: await contentHash({ text, attachments, mode }),
      mode,
      text,
      ...(attachments.length > 0 && { attachments: [...attachments] }),
      ...(lane !== undefined && { lane }),
    },
    runId,
  );
  // The acceptance is also the beginning of its run: `queued`.
  return { events: [accepted], refused, answer: answerOf };
}

/** What is accepted must fit when it becomes an entry, with what is then added to it. */
function whyRefused(text: string, attachments: readonly Attachment[]): Refused | undefined {
  if (text.trim() === "" && attachments.length === 0) {
    return refuse("invalid_event", "A message needs words or an attachment.");
  }
  if (storedSize({ text, attachments }) <= largest.input) return undefined;
  return refuse("payload_too_large", "The message is too long. Attach it as a file instead.");
}

function refuse(code: Refused["code"], message: string): Refused {
  return { status: "refused", code, message };
}

function answerOf(result: CommitResult): Admission {
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

/** Changes a message that is still waiting. Refused as `head_moved` when it was taken meanwhile. */
export function changeInput(
  log: Log,
  ids: IdSource,
  target: { readonly owner: OwnerId; readonly session: SessionId; readonly messageId: MessageId },
  content: { readonly text: string; readonly attachments?: readonly Attachment[] },
): Promise<CommitResult> {
  const refused = whyRefused(content.text, content.attachments ?? []);
  if (refused !== undefined) return Promise.resolve(refused);
  return onWaiting(log, target, () => [
    newEvent(ids.make("event"), "input.changed", {
      messageId: target.messageId,
      text: content.text,
      ...(content.attachments && { attachments: [...content.attachments] }),
    }),
  ]);
}

/** Takes a message that is still waiting out of the inbox. Its run ends as cancelled, without having begun. */
export function removeInput(
  log: Log,
  ids: IdSource,
  target: { readonly owner: OwnerId; readonly session: SessionId; readonly messageId: MessageId },
): Promise<CommitResult> {
  const { messageId } = target;
  return onWaiting(log, target, (runId) => [
    newEvent(ids.make("event"), "input.removed", { messageId }),
    newEvent(ids.make("event"), "run.state", { state: "cancelled", cause: "removed" }, runId),
  ]);
}

const tries = 5;

/** A message may be claimed between the look and the write; the head tells, and then it is looked at again. */
async function onWaiting(
  log: Log,
  { owner, session, messageId }: { owner: OwnerId; session: SessionId; messageId: MessageId },
  eventsFor: (runId: RunId) => readonly NewEvent[],
): Promise<CommitResult> {
  let result: CommitResult = gone;
  for (let attempt = 0; attempt < tries; attempt += 1) {
    const snapshot = await log.store.reads.snapshot(owner, session, { limit: 1 });
    const input = snapshot?.inbox.find((each) => each.messageId === messageId);
    if (snapshot === null || input === undefined) return gone;
    const expect = { head: snapshot.session.head };
    result = await log.commit({ owner, session, expect, events: eventsFor(input.runId) });
    if (result.status !== "refused" || result.code !== "head_moved") return result;
  }
  return result;
}

const gone: Refused = {
  status: "refused",
  code: "input_claimed",
  message: "The message is not waiting any more: it was taken, or removed.",
};

async function contentHash(content: unknown): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(content));
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
