import { admitMessage, changeInput, removeInput } from "@holdfast/engine";
import type { OwnerId, SessionId } from "@holdfast/protocol";

import type { Route } from "../http/index.ts";
import { type Call, mountCall } from "./contract.ts";
import type { ApiParts } from "./parts.ts";
import { answer, problem, problemFrom, type ProblemReply } from "./reply.ts";

type Unwritten = Parameters<typeof problemFrom>[0];

export function messageRoutes(parts: ApiParts): Route[] {
  const { log, ids, runner } = parts;

  /** P1: answered once it is durable. Whether a runner here takes it up at once or another later is the same to it. */
  async function sendMessage({ owner, params, body }: Call<"sendMessage">) {
    const { clientId, text, attachments, mode, lane } = body;
    const admission = await admitMessage(log, ids, {
      owner,
      session: params.id,
      clientId,
      text,
      ...(attachments !== undefined && { attachments }),
      ...(mode !== undefined && { mode }),
      ...(lane !== undefined && { lane }),
    });
    if (admission.status !== "accepted") return problemFrom(admission);
    runner.poke(owner, params.id);
    const { messageId, runId, seq } = admission;
    return answer({ messageId, runId, seq });
  }

  async function change({ owner, params, body }: Call<"changeInput">) {
    const { id: session, messageId } = params;
    const { text, attachments } = body;
    const content = { text, ...(attachments !== undefined && { attachments }) };
    const result = await changeInput(log, ids, { owner, session, messageId }, content);
    if (result.status === "committed") return answer({ seq: result.last });
    return problemWithInput(owner, session, result);
  }

  async function remove({ owner, params }: Call<"removeInput">) {
    const { id: session, messageId } = params;
    const result = await removeInput(log, ids, { owner, session, messageId });
    if (result.status === "committed") return answer(undefined);
    return problemWithInput(owner, session, result);
  }

  /** A message of a session that is not there was not claimed by anybody. */
  async function problemWithInput(
    owner: OwnerId,
    session: SessionId,
    result: Unwritten,
  ): Promise<ProblemReply> {
    const isThere = (await log.store.reads.session(owner, session)) !== null;
    return isThere ? problemFrom(result) : problem("session_not_found");
  }

  return [
    mountCall(parts, "sendMessage", sendMessage),
    mountCall(parts, "changeInput", change),
    mountCall(parts, "removeInput", remove),
  ];
}
