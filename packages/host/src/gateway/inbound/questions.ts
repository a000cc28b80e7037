import { answerApproval, type AnswerResult } from "@holdfast/engine";
import {
  type ApprovalId,
  type LaneKey,
  newEvent,
  outboxState,
  type Seq,
  type SessionId,
} from "@holdfast/protocol";

import { deterministicIds } from "../../util/deterministic-ids.ts";
import type { Incoming } from "../adapter.ts";
import { sessionOfLane } from "../lane-session.ts";
import { mayAnswer, type AnswerRightsDeps, answeredBy } from "./answer-approval.ts";
import type { InboundDeps } from "./reception-deps.ts";
import { RetryLater } from "./admit-message.ts";

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
