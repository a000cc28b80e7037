import {
  changeInput,
  type InputRow,
  removeInput,
  requestCancel,
  resumeRun,
  type RunRow,
} from "@holdfast/engine";
import type { Route } from "../http/routing.ts";
import {
  answer,
  type AnswerOf,
  type Call,
  mountCall,
  problem,
  problemFrom,
  type Reply,
} from "./endpoint.ts";
import type { ApiDeps } from "./deps.ts";
import {
  type InboxItem,
  type OwnerId,
  type RunId,
  type RunView,
  withTimeout,
} from "@holdfast/protocol";

/** An unresponsive database must not keep a client waiting: it can resend its message under the same id. */
const admissionTimeoutMs = 10_000;

export function messageRoutes(deps: ApiDeps): Route[] {
  const { log, engine, clock } = deps;

  /** P1: answered once durable, whether a runner here takes it up now or another one later. */
  async function sendMessage({ owner, params, body, ids }: Call<"sendMessage">) {
    const { clientId, text, attachments, mode, lane, quoted } = body;
    const sent = engine.send({
      ids,
      owner,
      session: params.id,
      clientId,
      text,
      ...(attachments !== undefined && { attachments }),
      ...(mode !== undefined && { mode }),
      ...(lane !== undefined && { lane }),
      ...(quoted !== undefined && { quoted }),
    });
    const admission = await withTimeout({ clock, ms: admissionTimeoutMs }, () => sent);
    if (admission.status !== "done") return problem("store_unknown");
    if (admission.value.status !== "accepted") return problemFrom(admission.value);
    const { messageId, runId, seq } = admission.value;
    return answer({ messageId, runId, seq });
  }

  async function change({ owner, params, body, ids }: Call<"changeInput">) {
    const { id: session, messageId } = params;
    const { text, attachments, quoted } = body;
    const content = {
      text,
      ...(attachments !== undefined && { attachments }),
      ...(quoted !== undefined && { quoted }),
    };
    const result = await changeInput(log, ids, { owner, session, messageId }, content);
    return result.status === "committed" ? answer({ seq: result.last }) : problemFrom(result);
  }

  async function remove({ owner, params, ids }: Call<"removeInput">) {
    const { id: session, messageId } = params;
    const result = await removeInput(log, ids, { owner, session, messageId });
    return result.status === "committed" ? answer(undefined) : problemFrom(result);
  }

  return [
    mountCall(deps, "sendMessage", sendMessage),
    mountCall(deps, "changeInput", change),
    mountCall(deps, "removeInput", remove),
  ];
}

export function runRoutes(deps: ApiDeps): Route[] {
  const { log, engine } = deps;

  async function showRun(owner: OwnerId, id: RunId): Promise<Reply<AnswerOf<"readRun">>> {
    const row = await log.store.reads.run(owner, id);
    return row === null ? problem("run_not_found") : answer({ run: viewRun(row) });
  }

  async function showAndNotify(owner: OwnerId, id: RunId): Promise<Reply<AnswerOf<"readRun">>> {
    const reply = await showRun(owner, id);
    if (reply.kind === "answer") engine.notify(owner, reply.value.run.sessionId);
    return reply;
  }

  /**
   * P6: a durable request. Repeating it, or sending it after the end, is no error: the answer shows the run's state.
   */
  async function cancelRun({ owner, params: { id }, ids }: Call<"cancelRun">) {
    const result = await requestCancel(log, ids, owner, id);
    switch (result.status) {
      case "requested":
      case "ended":
        return showAndNotify(owner, id);
      case "not_found":
        return problem("run_not_found");
      default:
        return problemFrom(result);
    }
  }

  /** A paused run resumes; a finished one is continued by a new run, and the answer shows that one. */
  async function resume({ owner, params, ids }: Call<"resumeRun">) {
    const target = { owner, runId: params.id, command: ids.make("event") };
    const result = await resumeRun(log, ids, target);
    if (result.status === "not_found") return problem("run_not_found");
    if (result.status !== "resumed") return problemFrom(result);
    engine.notify(owner, result.session);
    return showRun(owner, result.runId);
  }

  return [
    mountCall(deps, "readRun", ({ owner, params }) => showRun(owner, params.id)),
    mountCall(deps, "cancelRun", cancelRun),
    mountCall(deps, "resumeRun", resume),
  ];
}

/** Rows as a client sees them, without engine-only fields. */
export function viewRun(row: RunRow): RunView {
  const { id, session, state, cause, attempt, step, cancelRequested, continues } = row;
  const { startedAt, endedAt } = row;
  return {
    id,
    sessionId: session,
    state,
    cause,
    attempt,
    step,
    cancelRequested,
    continues,
    startedAt,
    endedAt,
  };
}

export function viewInput(row: InputRow): InboxItem {
  const { messageId, runId, clientId, mode, lane, seq, at, content } = row;
  return {
    messageId,
    runId,
    clientId,
    mode,
    ...(lane !== null && { lane }),
    text: content?.text ?? "",
    attachments: [...(content?.attachments ?? [])],
    seq,
    acceptedAt: at,
  };
}
