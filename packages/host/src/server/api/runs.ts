import { requestCancel, resumeRun } from "@holdfast/engine";
import type { OwnerId, RunId } from "@holdfast/protocol";

import type { Route } from "../http/route.ts";
import { type AnswerOf, type Call, mountCall } from "./contract.ts";
import type { ApiDeps } from "./deps.ts";
import { answer, problem, problemFrom, type Reply } from "./reply.ts";
import { viewRun } from "./views.ts";

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
