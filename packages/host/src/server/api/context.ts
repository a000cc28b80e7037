import {
  type Compaction,
  type ContextReport,
  describeContext,
  restoreEpoch,
  viewSession,
} from "@holdfast/engine";
import { withTimeout } from "@holdfast/protocol";

import { splitPrompt } from "../../agent/prompt-blocks.ts";
import type { Route } from "../http/routing.ts";
import {
  answer,
  type AnswerOf,
  type Call,
  mountCall,
  problem,
  problemFrom,
  problemFromFailure,
  type Reply,
} from "./endpoint.ts";
import type { ApiDeps } from "./deps.ts";

/** A summary takes a model's time: the request is answered within this, and the summary shows up in the log later. */
const maxWaitMs = 1_000;
const defaultWindow = 100_000;
const defaultTurns = 50;

export function contextRoutes(deps: ApiDeps): Route[] {
  const { log, compactor, models, clock, report } = deps;
  const { reads } = log.store;

  async function compact({ owner, params, body }: Call<"compact">) {
    const session = params.id;
    const row = await reads.session(owner, session);
    if (row === null) return problem("session_not_found");
    const model = row.model ?? models.defaultModel();
    // A host that runs nothing has not heard from the model's server yet.
    await models.learn(model);
    const window = compactor.windowOf(model) ?? defaultWindow;
    const { focus } = body;
    const target = { owner, session, ...(focus !== undefined && { focus }) };
    const work = compactor.compactNow(target, "asked", window);
    const compaction = await withTimeout({ clock, ms: maxWaitMs }, () => work);
    if (compaction.status === "done") return compactionReply(compaction.value, session);
    work.catch(report);
    return compactionReply(undefined, session);
  }

  async function restore({ owner, params, body, ids }: Call<"restoreEpoch">) {
    const { id: session, n } = params;
    const { expectedHead } = body;
    const result = await restoreEpoch({ log, ids }, { owner, session, expectedHead }, n);
    if (result.status === "refused" && result.code === "epoch_not_found")
      return problem("epoch_not_found");
    if (result.status !== "committed") return problemFrom(result);
    const row = await reads.session(owner, session);
    if (row === null) return problem("session_not_found");
    return answer({ session: viewSession(row), seq: result.last });
  }

  async function read({ owner, params, query }: Call<"readContext">) {
    const session = params.id;
    const options = { count: compactor.count, turns: query.turns ?? defaultTurns };
    const contextReport = await describeContext(reads, owner, session, options);
    if (contextReport === null) return problem("session_not_found");
    const { system, ...described } = contextReport;
    const window = described.model === null ? null : compactor.windowOf(described.model);
    return answer({
      ...viewContext(described, session, window),
      prompt: describePrompt(system),
    });
  }

  function describePrompt(text: string) {
    return splitPrompt(text).map((block) => ({ ...block, tokens: compactor.count(block.text) }));
  }

  return [
    mountCall(deps, "readContext", read),
    mountCall(deps, "compact", compact),
    mountCall(deps, "restoreEpoch", restore),
  ];
}

function compactionReply(
  compaction: Compaction | void,
  sessionId: Call<"compact">["params"]["id"],
): Reply<AnswerOf<"compact">> {
  switch (compaction?.status) {
    case undefined:
    case "compacted":
      return answer({ outcome: "started", sessionId });
    case "deferred":
      return answer({ outcome: "deferred", sessionId });
    case "refused":
      return problem(refusalProblem(compaction.code));
    case "failed":
      return problemFromFailure(compaction.code);
  }
}

/** A backoff and a missing summary concern automatic compaction only: a person is never told to wait. */
function refusalProblem(code: Extract<Compaction, { status: "refused" }>["code"]) {
  return code === "backed_off" || code === "no_summary" ? "nothing_to_gain" : code;
}

function viewContext(
  { tokens, epochs, turns, totals, ...rest }: Omit<ContextReport, "system">,
  sessionId: Call<"readContext">["params"]["id"],
  windowTokens: number | null,
): AnswerOf<"readContext"> {
  const total = Object.values(tokens).reduce((sum, count) => sum + count, 0);
  return {
    ...rest,
    sessionId,
    windowTokens,
    tokens: { ...tokens, total },
    epochs: epochs.map(({ covers, ...epoch }) => ({ ...epoch, covers: covers && { ...covers } })),
    turns: turns.map(({ changes, usage, ...turn }) => ({
      ...turn,
      changes: changes.map((change) => ({
        ...change,
        explainedBy: change.explainedBy && { ...change.explainedBy },
      })),
      usage: { ...usage },
    })),
    totals: { ...totals },
  };
}
