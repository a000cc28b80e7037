import { admitMessage, changeInput, removeInput } from "@holdfast/engine";

import type { Route } from "../http/route.ts";
import { type Call, mountCall } from "./contract.ts";
import type { ApiDeps } from "./deps.ts";
import { answer, problemFrom } from "./reply.ts";

export function messageRoutes(parts: ApiDeps): Route[] {
  const { log, runner } = parts;

  /** P1: answered once it is durable. Whether a runner here takes it up at once or another later is the same to it. */
  async function sendMessage({ owner, params, body, ids }: Call<"sendMessage">) {
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
    runner.notify(owner, params.id);
    const { messageId, runId, seq } = admission;
    return answer({ messageId, runId, seq });
  }

  async function change({ owner, params, body, ids }: Call<"changeInput">) {
    const { id: session, messageId } = params;
    const { text, attachments } = body;
    const content = { text, ...(attachments !== undefined && { attachments }) };
    const result = await changeInput(log, ids, { owner, session, messageId }, content);
    return result.status === "committed" ? answer({ seq: result.last }) : problemFrom(result);
  }

  async function remove({ owner, params, ids }: Call<"removeInput">) {
    const { id: session, messageId } = params;
    const result = await removeInput(log, ids, { owner, session, messageId });
    return result.status === "committed" ? answer(undefined) : problemFrom(result);
  }

  return [
    mountCall(parts, "sendMessage", sendMessage),
    mountCall(parts, "changeInput", change),
    mountCall(parts, "removeInput", remove),
  ];
}
