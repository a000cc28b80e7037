import {
  type Attachment,
  decodeEvent,
  type Seq,
  type StoredEvent,
  textOf,
} from "@holdfast/protocol";

import type { Refused } from "../ports/commit.ts";
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
  /** The message to ask again from; the last one when absent. */
  readonly from?: Seq | undefined;
  readonly text?: string | undefined;
  readonly attachments?: readonly Attachment[] | undefined;
  /** The client's own name for the message that comes in its place. */
  readonly clientId: string;
}

/**
 * Asks again from a message, in its own words or in new ones (an edit): one commit cuts and accepts, so neither is without
 * the other. The new message goes before those that wait, since it stands where the old one stood. The same client id
 * again gets the first answer.
 */
export async function retry(
  deps: HistoryDeps,
  target: HistoryTarget,
  words: RetryInput,
): Promise<Admission | HistoryRefusal> {
  const { owner, session } = target;
  const command = await deterministicId("event", "retry", owner, session, words.clientId);
  const earlier = await findEarlierRetry(deps.log, { ...target, command }, words);
  return (
    earlier ??
    retryWhileHeadMoves(target, () => retryFromEntry(deps, { ...target, command }, words))
  );
}

async function retryFromEntry(
  deps: HistoryDeps,
  target: HistoryTarget,
  words: RetryInput,
): Promise<Admission | HistoryRefusal> {
  const { from } = words;
  const isAsked = (entry: StoredEvent) =>
    entry.type === "message.user" && (from === undefined || entry.seq === from);
  const place = await findCutPoint(deps.log, target, isAsked);
  if (place === null) return noSession;
  if (place.from === null) {
    return from === undefined
      ? refuseHistory("nothing_to_undo", "There is no message to ask again.")
      : refuseHistory("entry_not_found", "There is no such message in view.");
  }
  const said = contentOf(place.from);
  const { owner, session } = target;
  const { text = said.text, attachments = said.attachments, clientId } = words;
  const input = { owner, session, clientId, text, attachments, mode: "interrupt" } as const;
  const { events, refused, answer } = await acceptInput(deps.ids, input);
  if (refused !== undefined) return refused;
  const isEdit = words.text !== undefined || words.attachments !== undefined;
  const result = await cut(deps, target, place, isEdit ? "edit" : "retry", events);
  // The cut is named by the request, the message behind it is not: whoever was faster has accepted one of its own.
  const wasFaster = result.status === "committed" && result.repeated === true;
  const earlier = wasFaster ? await findEarlierRetry(deps.log, target, words) : null;
  return earlier ?? answer(result);
}

/** Where the cut of an earlier retry stands, its message follows. */
async function findEarlierRetry(
  log: HistoryDeps["log"],
  target: HistoryTarget,
  words: RetryInput,
): Promise<Admission | null> {
  const { owner, session } = target;
  const cutBefore = await findEarlierResult(log, target);
  if (cutBefore === null) return null;
  const page = await log.store.reads.events(owner, session, { after: cutBefore.first, limit: 1 });
  const next = page?.events[0];
  const decoded = next && decodeEvent(next);
  if (decoded?.kind !== "known" || decoded.event.type !== "input.accepted") return null;
  const { messageId, runId, text } = decoded.event.data;
  if (words.text !== undefined && words.text !== text) return clientIdConflict;
  return { status: "accepted", messageId, runId, seq: decoded.event.seq, repeated: true };
}

const clientIdConflict: Refused = {
  status: "refused",
  code: "idempotency_conflict",
  message: "This client id was used for another message.",
};

function contentOf(entry: StoredEvent): { text: string; attachments: readonly Attachment[] } {
  const decoded = decodeEvent(entry);
  if (decoded.kind !== "known" || decoded.event.type !== "message.user")
    return { text: "", attachments: [] };
  const { parts } = decoded.event.data;
  const attachments = parts.filter((part) => part.type === "file" || part.type === "image");
  return { text: textOf(parts), attachments };
}
