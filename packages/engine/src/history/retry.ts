import {
  type Attachment,
  decodeEvent,
  type MessageId,
  newEvent,
  type NewEvent,
  type Seq,
  type StoredEvent,
  textOf,
} from "@holdfast/protocol";

import type { Refused } from "../ports/commit.ts";
import type { InputContent } from "../ports/rows.ts";
import { type Admission, acceptInput } from "../run/admit.ts";
import {
  cut,
  findEarlierResult,
  findCutPoint,
  type HistoryDeps,
  type HistoryTarget,
  refuseHistory,
  type HistoryRefusal,
  noSession,
  retryWhileHeadMoves,
} from "./cut.ts";
import { deterministicId } from "../hash.ts";

export interface RetryInput {
  /** The message to ask again from; by default the last one. */
  readonly from?: Seq | undefined;
  readonly text?: string | undefined;
  readonly attachments?: readonly Attachment[] | undefined;
  /** The model that answers it, and the session's from then on. */
  readonly model?: string | undefined;
  /** The client's own id for the replacing message. */
  readonly clientId: string;
}

/**
 * Asks again from a message, with its own text or a new one (an edit): one commit cuts and accepts, so there is never
 * one without the other. The new message goes before queued ones, since it takes the old one's place, which stays as
 * an alternative. Repeating a client id returns the first answer.
 */
export async function retry(
  deps: HistoryDeps,
  target: HistoryTarget,
  newText: RetryInput,
): Promise<Admission | HistoryRefusal> {
  const { owner, session } = target;
  const command = await deterministicId("event", "retry", owner, session, newText.clientId);
  const earlier = await findEarlierRetry(deps.log, { ...target, command }, newText);
  return (
    earlier ??
    retryWhileHeadMoves(target, () => retryFromEntry(deps, { ...target, command }, newText))
  );
}

async function retryFromEntry(
  deps: HistoryDeps,
  target: HistoryTarget,
  newText: RetryInput,
): Promise<Admission | HistoryRefusal> {
  const { from } = newText;
  const isAsked = (entry: StoredEvent) =>
    entry.type === "message.user" && (from === undefined || entry.seq === from);
  const point = await findCutPoint(deps.log, target, isAsked);
  if (point === null) return noSession;
  if (point.from === null) {
    return from === undefined
      ? refuseHistory("nothing_to_undo", "There is no message to ask again.")
      : refuseHistory("entry_not_found", "There is no such message in view.");
  }
  const original = contentOf(point.from);
  const { owner, session } = target;
  const { text = original.text, attachments = original.attachments, clientId } = newText;
  const { rights, taint, quoted } = original;
  const input = {
    owner,
    session,
    clientId,
    text,
    attachments,
    mode: "interrupt",
    // Whoever asks again, it is still that message: it must not gain rights this way.
    ...(rights && { rights }),
    ...(taint && { taint }),
    ...(quoted && newText.text === undefined && { quoted }),
  } as const;
  const { events, messageId, refused, answer } = await acceptInput(deps.ids, input);
  if (refused !== undefined) return refused;
  const isEdit = newText.text !== undefined || newText.attachments !== undefined;
  const replaces = original.messageId && {
    messageId: original.messageId,
    seq: point.from.seq,
    by: messageId,
  };
  const replacement =
    newText.model === undefined ? events : [...events, modelChange(deps, newText.model)];
  const result = await cut(deps, target, point, isEdit ? "edit" : "retry", replacement, replaces);
  // The command names the cut but not the message after it: a faster duplicate has accepted a message of its own.
  const isDuplicate = result.status === "committed" && result.repeated === true;
  const earlier = isDuplicate ? await findEarlierRetry(deps.log, target, newText) : null;
  return earlier ?? answer(result);
}

/** The message of an earlier retry follows its cut. */
async function findEarlierRetry(
  log: HistoryDeps["log"],
  target: HistoryTarget,
  newText: RetryInput,
): Promise<Admission | null> {
  const { owner, session } = target;
  const cutBefore = await findEarlierResult(log, target);
  if (cutBefore === null) return null;
  const page = await log.store.reads.events(owner, session, { after: cutBefore.first, limit: 1 });
  const next = page?.events[0];
  const decoded = next && decodeEvent(next);
  if (decoded?.kind !== "known" || decoded.event.type !== "input.accepted") return null;
  const { messageId, runId, text } = decoded.event.data;
  if (newText.text !== undefined && newText.text !== text) return clientIdConflict;
  return { status: "accepted", messageId, runId, seq: decoded.event.seq, repeated: true };
}

const clientIdConflict: Refused = {
  status: "refused",
  code: "idempotency_conflict",
  message: "This client id was used for another message.",
};

function modelChange({ ids }: HistoryDeps, model: string): NewEvent {
  return newEvent(ids.make("event"), "session.changed", { model });
}

function contentOf(entry: StoredEvent): InputContent & { readonly messageId?: MessageId } {
  const decoded = decodeEvent(entry);
  if (decoded.kind !== "known" || decoded.event.type !== "message.user")
    return { text: "", attachments: [] };
  const { messageId, parts, rights } = decoded.event.data;
  const attachments = parts.filter((part) => part.type === "file" || part.type === "image");
  const text = parts.find((part) => part.type === "text");
  const { taint, quoted } = text ?? {};
  return { text: textOf(parts), attachments, rights, taint, quoted, messageId };
}
