import type { ProcessView } from "@holdfast/protocol";

import type { Route } from "../http/route.ts";
import { describeEnd } from "../../automation/processes/end-report.ts";
import { type ProcessRecord } from "../../automation/processes/process-store.ts";
import { type Call, mountCall } from "./contract.ts";
import type { ApiDeps } from "./deps.ts";
import { answer, problem } from "./reply.ts";

export function processRoutes(parts: ApiDeps): Route[] {
  const { processes: desk, log } = parts;

  async function list({ owner, params }: Call<"listProcesses">) {
    const session = await log.store.reads.session(owner, params.id);
    if (session === null) return problem("session_not_found");
    const all = (await desk?.store.list(owner)) ?? [];
    const own = all.filter(({ process }) => process.session === session.id);
    return answer({ processes: own.map(({ process }) => viewProcess(process)) });
  }

  async function stop({ owner, params }: Call<"stopProcess">) {
    const stopped = await desk?.stop(owner, null, params.id);
    if (stopped == null) return problem("process_not_found");
    return answer({ process: viewProcess(stopped.process) });
  }

  return [mountCall(parts, "listProcesses", list), mountCall(parts, "stopProcess", stop)];
}

function viewProcess({ id, session, shown, stop, end, ...rest }: ProcessRecord): ProcessView {
  const { host, startedAt, endedAt } = rest;
  return {
    id,
    sessionId: session,
    command: shown,
    state: end !== null ? "ended" : stop !== null ? "stopping" : "running",
    end: end === null ? null : describeEnd(end),
    host,
    startedAt,
    endedAt,
  };
}
