import { type Log, answerApproval, type AnswerResult } from "@holdfast/engine";
import {
  type ApprovalId,
  decodeEvent,
  outboxState,
  type OwnerId,
  type RunId,
  type Seq,
  type SessionId,
  type LaneKey,
  newEvent,
} from "@holdfast/protocol";
import type { Incoming } from "../adapter.ts";
import type { ChatAddressing } from "../chat-addressing.ts";
import { approvalDeliveryId } from "../outbound/pending-chunks.ts";
import { deterministicIds } from "../../util/deterministic-ids.ts";
import { sessionOfLane } from "../lane-session.ts";
import { type InboundDeps, RetryLater } from "./admit-message.ts";

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

type TextMessage = Extract<Incoming, { kind: "message" | "edit" }>;
type AnswerDeps = Pick<InboundDeps, "log" | "owner" | "ids" | "adapter"> & AnswerRightsDeps;

export interface TextAnswer {
  readonly message: TextMessage;
  readonly text: string;
  readonly lane: LaneKey;
  readonly key: string;
}

const maxAnswerLength = 10_000;
const maxOpenQuestions = 20;

/**
 * A person's words to a question that waits for them in this lane. `null`: none does, and they are a message like any other.
 * P11: which question they are for is durable before they answer it, so that the same words again, after a crash, answer that
 * one and never become a turn.
 */
export async function answerWithText(
  deps: AnswerDeps,
  said: TextAnswer,
): Promise<AnswerResult | null> {
  const { log, owner, ids } = deps;
  const approval = await findQuestion(deps, said);
  if (approval === null) return null;
  const by = answeredBy(deps.adapter.platform, said.message.person);
  const words = { by, answer: said.text.slice(0, maxAnswerLength).toWellFormed() };
  return answerApproval(log, ids, owner, approval, "once", words);
}

async function findQuestion(deps: AnswerDeps, said: TextAnswer): Promise<ApprovalId | null> {
  const { log, owner } = deps;
  const { reads } = log.store;
  const earlier = await reads.inbound(owner, said.key);
  if (earlier !== null) {
    const query = { ...earlier, states: outboxState.options, limit: 1 };
    const [row] = await reads.outbox(owner, query);
    return row?.code === claimedCode ? row.approvalId : null;
  }
  const session = await sessionOfLane(deps, said.lane);
  if (session === null) return null;
  const { approvals } = await reads.approvals(owner, { session, limit: maxOpenQuestions });
  for (const { id, details } of approvals) {
    if (details.kind !== "question" || !(await mayAnswer(deps, id, said.message))) continue;
    return (await claimMessage(deps, session, id, said)) ? id : null;
  }
  return null;
}

const claimedCode = "answer";

/** Nothing that is sent: it names the message as taken, and what for. */
async function claimMessage(
  { log, owner }: AnswerDeps,
  session: SessionId,
  approvalId: ApprovalId,
  { lane, key }: TextAnswer,
): Promise<boolean> {
  const ids = deterministicIds(`answer ${key}`);
  const event = newEvent(ids.make("event"), "outbox.changed", {
    delivery: ids.make("delivery"),
    chunk: 0,
    kind: "note",
    lane,
    inbound: key,
    approvalId,
    begun: 0 as Seq,
    state: "dropped",
    from: 0,
    to: 0,
    attempts: 0,
    code: claimedCode,
  });
  const result = await log.commit({ owner, session, events: [event], touch: "quiet" });
  // Otherwise an answer would become a turn.
  if (result.status === "failed") throw new RetryLater(result.message);
  return result.status === "committed";
}
