import { answerApproval, type AnswerResult } from "@holdfast/engine";
import {
  type ApprovalId,
  type LaneKey,
  newEvent,
  outboxState,
  type Seq,
  type SessionId,
} from "@holdfast/protocol";

import { idsFrom } from "../../util/deterministic-ids.ts";
import type { Incoming } from "../adapter.ts";
import { sessionOfLane } from "../lane-session.ts";
import { mayPress, type PressDeps, presserOf } from "./answer-approval.ts";
import type { ReceptionDeps } from "./reception-deps.ts";
import { TryAgain } from "./admit-message.ts";

type Message = Extract<Incoming, { kind: "message" | "edit" }>;
type QuestionDeps = Pick<ReceptionDeps, "log" | "owner" | "ids" | "adapter"> & PressDeps;

export interface InWords {
  readonly message: Message;
  readonly text: string;
  readonly lane: LaneKey;
  readonly key: string;
}

const longestAnswer = 10_000;
const mostOpen = 20;

/**
 * A person's words to a question that waits for them in this lane. `null`: none does, and they are a message like any other.
 * P11: which question they are for is durable before they answer it, so that the same words again, after a crash, answer that
 * one and never become a turn.
 */
export async function answerInWords(
  deps: QuestionDeps,
  said: InWords,
): Promise<AnswerResult | null> {
  const { log, owner, ids } = deps;
  const approval = await questionFor(deps, said);
  if (approval === null) return null;
  const by = presserOf(deps.adapter.platform, said.message.person);
  const words = { by, answer: said.text.slice(0, longestAnswer).toWellFormed() };
  return answerApproval(log, ids, owner, approval, "once", words);
}

async function questionFor(deps: QuestionDeps, said: InWords): Promise<ApprovalId | null> {
  const { log, owner } = deps;
  const { reads } = log.store;
  const earlier = await reads.inbound(owner, said.key);
  if (earlier !== null) {
    const query = { ...earlier, states: outboxState.options, limit: 1 };
    const [row] = await reads.outbox(owner, query);
    return row?.code === claimed ? row.approvalId : null;
  }
  const session = await sessionOfLane(deps, said.lane);
  if (session === null) return null;
  const { approvals } = await reads.approvals(owner, { session, limit: mostOpen });
  for (const { id, details } of approvals) {
    if (details.kind !== "question" || !(await mayPress(deps, id, said.message))) continue;
    return (await claim(deps, session, id, said)) ? id : null;
  }
  return null;
}

const claimed = "answer";

/** Nothing that is sent: it names the message as taken, and what for. */
async function claim(
  { log, owner }: QuestionDeps,
  session: SessionId,
  approvalId: ApprovalId,
  { lane, key }: InWords,
): Promise<boolean> {
  const ids = idsFrom(`answer ${key}`);
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
    code: claimed,
  });
  const result = await log.commit({ owner, session, events: [event], touch: "quiet" });
  // Otherwise an answer would become a turn.
  if (result.status === "failed") throw new TryAgain(result.message);
  return result.status === "committed";
}
