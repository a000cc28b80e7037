import { admitMessage, changeInput, removeInput, requestCancel, resumeRun } from "@holdfast/engine";
import type { Route } from "../http/routing.ts";
import { type Call, mountCall, type AnswerOf } from "./endpoint.ts";
import type { ApiDeps } from "./deps.ts";
import { answer, problemFrom, problem, type Reply, viewRun } from "./reply.ts";
import type { OwnerId, RunId } from "@holdfast/protocol";

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

export function runRoutes(parts: ApiDeps): Route[] {
  const { log, runner } = parts;

  async function showRun(owner: OwnerId, id: RunId): Promise<Reply<AnswerOf<"readRun">>> {
    const row = await log.store.reads.run(owner, id);
    return row === null ? problem("run_not_found") : answer({ run: viewRun(row) });
  }

  async function showAsked(owner: OwnerId, id: RunId): Promise<Reply<AnswerOf<"readRun">>> {
    const shown = await showRun(owner, id);
    if (shown.kind === "answer") runner.notify(owner, shown.value.run.sessionId);
    return shown;
  }

  /** P6: a durable wish. One that comes again, or after the end, is no error: the answer says how the run stands. */
  async function cancelRun({ owner, params: { id }, ids }: Call<"cancelRun">) {
    const result = await requestCancel(log, ids, owner, id);
    switch (result.status) {
      case "requested":
      case "ended":
        return showAsked(owner, id);
      case "not_found":
        return problem("run_not_found");
      default:
        return problemFrom(result);
    }
  }

  /** A run that was paused goes on; one that has ended is continued by a new one, and that is what is shown. */
  async function resume({ owner, params, ids }: Call<"resumeRun">) {
    const target = { owner, runId: params.id, command: ids.make("event") };
    const result = await resumeRun(log, ids, target);
    if (result.status === "not_found") return problem("run_not_found");
    if (result.status !== "resumed") return problemFrom(result);
    runner.notify(owner, result.session);
    return showRun(owner, result.runId);
  }

  return [
    mountCall(parts, "readRun", ({ owner, params }) => showRun(owner, params.id)),
    mountCall(parts, "cancelRun", cancelRun),
    mountCall(parts, "resumeRun", resume),
  ];
}
