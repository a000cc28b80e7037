import { requestCancel } from "@holdfast/engine";
import type { OwnerId, RunId } from "@holdfast/protocol";

import type { Route } from "../http/index.ts";
import { type AnswerOf, type Call, mountCall } from "./contract.ts";
import type { ApiParts } from "./parts.ts";
import { answer, problem, problemFrom, type Reply } from "./reply.ts";
import { viewRun } from "./views.ts";

export function runRoutes(parts: ApiParts): Route[] {
  const { log, ids } = parts;

  async function showRun(owner: OwnerId, id: RunId): Promise<Reply<AnswerOf<"readRun">>> {
    const row = await log.store.reads.run(owner, id);
    return row === null ? problem("run_not_found") : answer({ run: viewRun(row) });
  }

  /** P6: a durable wish. One that comes again, or after the end, is no error: the answer says how the run stands. */
  async function cancelRun({ owner, params: { id } }: Call<"cancelRun">) {
    const result = await requestCancel(log, ids, owner, id);
    switch (result.status) {
      case "requested":
      case "ended":
        return showRun(owner, id);
      case "not_found":
        return problem("run_not_found");
      default:
        return problemFrom(result);
    }
  }

  return [
    mountCall(parts, "readRun", ({ owner, params }) => showRun(owner, params.id)),
    mountCall(parts, "cancelRun", cancelRun),
  ];
}
