import { type Log, answerApproval, type AnswerResult } from "@holdfast/engine";
import {
  type ApprovalId,
  approvedMode,
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
import { isPlanShownWhole } from "../approval-message.ts";
import { approvalDeliveryId } from "../outbound/pending-chunks.ts";
import { deterministicIds } from "../../util/deterministic-ids.ts";
import { type ChatAddressing, sessionOfLane } from "../lanes.ts";
import { type InboundDeps, RetryLater } from "./admit-message.ts";

export interface AnswerRightsDeps {
  readonly log: Log;
  readonly owner: OwnerId;
  readonly addressing: Pick<ChatAddressing, "addressOf" | "senderOf">;
}

/**
 * Whether this person may answer: the question went to this very chat, and they started the run, or nobody in the
 * chat did (a schedule). Both facts come from the store: a client can send any button data it likes.
 */
export async function mayAnswer(
  { log, owner, addressing }: AnswerRightsDeps,
  id: ApprovalId,
  { person, address }: Pick<Incoming, "person" | "address">,
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
  const [question] = await reads.outbox(owner, query);
  if (question === undefined || addressing.addressOf(question.lane)?.chat !== address.chat)
    return false;
  const asker = addressing.senderOf(await clientIdOfRun(log, owner, session, runId));
  return asker === null || asker === person.id;
}

/** Recorded for audits by platform id, which stays the same when people rename themselves. */
export function answeredBy(platform: string, { id }: Incoming["person"]): string {
  return `${platform}:${id}`;
}

const pageSize = 100;

/** The client id of the message that started the run. Later messages may have steered it. */
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
    const message = entries.find((entry) => entry.runId === runId && entry.type === "message.user");
    const decoded = message && decodeEvent(message);
    if (decoded?.kind === "known" && decoded.event.type === "message.user")
      first = decoded.event.data.clientId ?? first;
    const [oldest] = entries;
    const isPastRun = oldest?.runId !== undefined && oldest.runId !== runId;
    if (oldest === undefined || page?.more !== true || (first !== null && isPastRun)) return first;
    before = oldest.seq;
  }
}

type TextMessage = Extract<Incoming, { kind: "message" | "edit" }>;
type AnswerDeps = Pick<InboundDeps, "log" | "owner" | "ids" | "adapter" | "rights"> &
  AnswerRightsDeps;

export interface TextAnswer {
  readonly message: TextMessage;
  readonly text: string;
  readonly lane: LaneKey;
  readonly key: string;
}

const maxAnswerLength = 10_000;
const maxOpenQuestions = 20;

/**
 * Treats a message as the answer to a question that is open for this person in this lane. `null`: no question is
 * open, and it is a normal message. P11: which question it answers is durable before the answer is, so a
 * redelivery after a crash answers the same question and never becomes a turn.
 */
export async function answerWithText(
  deps: AnswerDeps,
  answer: TextAnswer,
): Promise<AnswerResult | { readonly status: "not_shown" } | null> {
  const { log, owner, ids } = deps;
  const approval = await findQuestion(deps, answer);
  if (approval === null) return null;
  const row = await log.store.reads.approval(owner, approval);
  const approvesPlan = row?.details.plan === true && approvedMode(answer.text) !== null;
  if (approvesPlan && !isPlanShownWhole(row)) return { status: "not_shown" };
  const by = answeredBy(deps.adapter.platform, answer.message.person);
  const details = { by, answer: answer.text.slice(0, maxAnswerLength).toWellFormed() };
  return answerApproval(log, ids, owner, approval, "once", details);
}

async function findQuestion(deps: AnswerDeps, answer: TextAnswer): Promise<ApprovalId | null> {
  const { log, owner, rights } = deps;
  const { reads } = log.store;
  const earlier = await reads.inbound(owner, answer.key);
  if (earlier !== null) {
    const query = { ...earlier, states: outboxState.options, limit: 1 };
    const [row] = await reads.outbox(owner, query);
    return row?.code === claimedCode ? row.approvalId : null;
  }
  const session = await sessionOfLane(deps, answer.lane);
  if (session === null) return null;
  const { approvals } = await reads.approvals(owner, { session, limit: maxOpenQuestions });
  for (const { id, details } of approvals) {
    if (details.kind !== "question" || !(await mayAnswer(deps, id, answer.message))) continue;
    // Approving a plan switches the mode, so it is for those who answer approvals.
    if (details.plan === true && !(await rights.ofLane(owner, answer.lane)).approvals) continue;
    return (await claimMessage(deps, session, id, answer)) ? id : null;
  }
  return null;
}

const claimedCode = "answer";

/** Records the message as used, and for which question. Nothing is sent. */
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
  // Otherwise the answer would become a turn.
  if (result.status === "failed") throw new RetryLater(result.message);
  return result.status === "committed";
}
