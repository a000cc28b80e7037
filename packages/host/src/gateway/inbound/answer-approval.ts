import type { Log } from "@holdfast/engine";
import {
  type ApprovalId,
  decodeEvent,
  outboxState,
  type OwnerId,
  type RunId,
  type Seq,
  type SessionId,
} from "@holdfast/protocol";

import type { Incoming } from "../adapter.ts";
import type { ChatAddressing } from "../chat-addressing.ts";
import { approvalDeliveryId } from "../outbound/owed-chunks.ts";

export interface AnswerRightsDeps {
  readonly log: Log;
  readonly owner: OwnerId;
  readonly addressing: Pick<ChatAddressing, "addressOf" | "senderOf">;
}

/**
 * Whether a button is this person's to press: the question went to this very chat, and they asked what led to it, or nobody
 * there did, as where a schedule spoke. The store says both. What a button carries is sent back by whoever presses it, and may be anything.
 */
export async function mayAnswer(
  { log, owner, addressing: names }: AnswerRightsDeps,
  id: ApprovalId,
  { person, address: place }: Pick<Incoming, "person" | "address">,
): Promise<boolean> {
  const { reads } = log.store;
  const approval = await reads.approval(owner, id);
  if (approval === null) return true;
  const { session, runId } = approval;
  const query = {
    session,
    delivery: approvalDeliveryId(id),
    states: outboxState.options,
    limit: 1,
  };
  const [asked] = await reads.outbox(owner, query);
  if (asked === undefined || names.addressOf(asked.lane)?.chat !== place.chat) return false;
  const asker = names.senderOf(await clientIdOfRun(log, owner, session, runId));
  return asker === null || asker === person.id;
}

/** Who it was, for a trail that is read later: the platform's own name for a person, which stays when they call themselves otherwise. */
export function answeredBy(platform: string, { id }: Incoming["person"]): string {
  return `${platform}:${id}`;
}

const pageSize = 100;

/** Under which name of its client the message came that a run answers: its first, others may have steered it since. */
async function clientIdOfRun(
  { store: { reads } }: Log,
  owner: OwnerId,
  session: SessionId,
  runId: RunId,
): Promise<string | null> {
  let first: string | null = null;
  for (let before: Seq | undefined; ;) {
    const page = await reads.entries(owner, session, {
      limit: pageSize,
      ...(before !== undefined && { before }),
    });
    const entries = page?.entries ?? [];
    const said = entries.find((each) => each.runId === runId && each.type === "message.user");
    const decoded = said && decodeEvent(said);
    if (decoded?.kind === "known" && decoded.event.type === "message.user")
      first = decoded.event.data.clientId ?? first;
    const [oldest] = entries;
    const isBehind = oldest?.runId !== undefined && oldest.runId !== runId;
    if (oldest === undefined || page?.more !== true || (first !== null && isBehind)) return first;
    before = oldest.seq;
  }
}
