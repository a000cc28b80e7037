import {
  type BlobId,
  type CallDecision,
  defaultMode,
  mergeTaint,
  type MessageId,
  type TaintSource,
  type ToolDetails,
  toolDetails,
  type OwnerId,
} from "@holdfast/protocol";
import type { Clock } from "../ports/clock.ts";
import type { SpillStore } from "../ports/spill.ts";
import type { ModelCall } from "../ports/model.ts";
import type { Tool, ToolCall } from "../ports/tool.ts";
import {
  type StepEntries,
  markStartedAsUnknown,
  toolEndOf,
  settledTool,
  type ToolEnd,
  truncateToBytes,
  sizeLimits,
  jsonSize,
} from "./settle.ts";
import type { StreamedTool } from "./fold-step.ts";
import type { Journal } from "./journal.ts";
import type { RunHandle } from "./run-handle.ts";
import { spillMarkFor } from "../recovery/spill.ts";
import {
  resolvePlace,
  refusalText,
  decideCalls,
  type CallCircumstances,
  type JudgedBy,
  type CallVerdict,
  type CallPolicyDeps,
} from "./approvals.ts";
import { modeOfRun, recordedMode } from "./session-mode.ts";
import { runWithTimeLimit, type ToolOutcomeResult } from "./tools/run-with-time-limit.ts";
import type { Store } from "../ports/store.ts";

export interface ToolDeps extends CallPolicyDeps {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly clock: Clock;
  readonly spills?: SpillStore | undefined;
  readonly raiseFence: () => Promise<void>;
}

/**
 * Runs the calls of a message. Those that need no approval run in parallel and settle in one commit; then one commit
 * asks for approval of all the others and puts the run to rest. P7: each call is recorded as started earlier it starts,
 * and one that a dead runner started is not started again unless its tool declares that safe.
 */
export async function runTools(
  deps: ToolDeps,
  run: RunHandle,
  step: StepEntries & { readonly calls: readonly ModelCall[] } & CallCircumstances,
  journal: Journal,
): Promise<void> {
  const { calls, rights, taint } = step;
  const { mode, mayLeavePlan } = await modeOfRun(deps, deps.log.store.reads, run, rights);
  const circumstances = { rights, taint, mode };
  const startedTools = journal.fold().tools;
  const todo = calls.map((call) => ({ call, earlier: startedTools.get(call.callId) }));
  const fresh = todo.flatMap(({ call, earlier }) => {
    const tool = call.malformed ? undefined : deps.tools.get(call.name);
    return earlier === undefined && tool !== undefined ? [{ call, tool }] : [];
  });
  const decisions = await decideCalls(deps, run, fresh, { ...circumstances, mayLeavePlan });
  const verdicts = new Map(fresh.map(({ call }, index) => [call.callId, decisions[index]]));
  const asks = calls.flatMap((call) => {
    const verdict = verdicts.get(call.callId);
    return verdict?.kind === "ask" ? [{ call, verdict }] : [];
  });
  const now = todo.filter(({ call }) => verdicts.get(call.callId)?.kind !== "ask");
  const ends = await Promise.all(
    now.map(({ call, earlier }) =>
      finishCall(deps, run, call, {
        journal,
        earlier,
        verdict: verdicts.get(call.callId),
        circumstances,
      }),
    ),
  );
  if (!(await journal.flush())) return;
  if (ends.some(({ outcome }) => outcome === "unknown")) await deps.raiseFence();
  const { tools } = journal.fold();
  const finalEnds = await markStartedAsUnknown(deps.log.store.reads, step, ends, tools);
  const settled = finalEnds.map((end) =>
    settledTool(run, end, tools.get(end.callId)?.deltas ?? []),
  );
  if (settled.length > 0 && (await run.write(settled)) === null) return;
  if (asks.length > 0 && !run.cancelled) await requestApprovals(run, asks);
}

/** It is now a person's turn: the run gives up its lease, and nothing is lost if its runner dies. */
async function requestApprovals(
  run: RunHandle,
  calls: readonly {
    readonly call: ModelCall;
    readonly verdict: Extract<CallVerdict, { kind: "ask" }>;
  }[],
): Promise<void> {
  const questions = calls.map(
    ({ call: { callId, name, input }, verdict: { inputHash, details } }) => {
      const approvalId = run.ids.make("approval");
      return run.event("approval.asked", {
        approvalId,
        callId,
        name,
        input,
        inputHash,
        ...details,
      });
    },
  );
  const waiting = run.event("run.state", { state: "waiting" });
  if ((await run.write([...questions, waiting])) === null) return;
  // A cancel that arrived just earlier saw a live run and left ending it to us.
  if (!run.cancelled) run.lose("rests");
}

async function finishCall(
  deps: ToolDeps,
  run: RunHandle,
  call: ModelCall,
  rest: {
    readonly journal: Journal;
    readonly earlier: StreamedTool | undefined;
    readonly verdict: CallVerdict | undefined;
    readonly circumstances: Omit<JudgedBy, "mayLeavePlan">;
  },
): Promise<ToolEnd> {
  const { journal, earlier, verdict, circumstances } = rest;
  if (earlier !== undefined && (earlier.ended !== null || earlier.started.replay === "never"))
    return toolEndOf(earlier);
  const { callId, name } = call;
  const resultId = earlier?.started.resultId ?? run.ids.make("message");
  if (call.malformed)
    return { callId, name, resultId, outcome: "failed", output: malformedArguments };
  const tool = deps.tools.get(name);
  if (tool === undefined)
    return { callId, name, resultId, outcome: "failed", output: `There is no tool ${name}.` };
  if (verdict?.kind === "refused") return { callId, name, resultId, ...refusedResult(verdict) };
  if (verdict?.kind === "failed")
    return { callId, name, resultId, outcome: "failed", output: verdict.message };
  if (run.signal.aborted) return { callId, name, resultId, outcome: "cancelled", output: "" };
  const { owner, session, runId, lane } = run;
  const toolCall = { owner, session, runId, callId, input: call.input, lane, ...circumstances };
  if (verdict?.kind === "run") {
    const { kind: _, allowedBy, decided, ...bound } = verdict;
    return startTool(deps, run, tool, {
      call: { ...toolCall, ...bound },
      resultId,
      journal,
      allowedBy,
      decided,
    });
  }
  // A call that may start again runs in today's workspace; the runner that started it earlier had resolved its own.
  const place = await resolvePlace(tool, toolCall);
  if ("message" in place)
    return { callId, name, resultId, outcome: "failed", output: place.message };
  return startTool(deps, run, tool, { call: { ...toolCall, ...place }, resultId, journal });
}

/** The model gets a sentence and people get an outcome of its own: a no does not end the run. */
function refusedResult({
  why,
  reason,
}: Pick<Extract<CallVerdict, { kind: "refused" }>, "why" | "reason">): ToolOutcomeResult {
  const said = reason === undefined ? {} : { reason };
  return {
    outcome: "cancelled",
    output: refusalText(why, reason),
    details: { refusal: why, ...said },
  };
}

const malformedArguments =
  "The arguments were not a JSON object, so nothing was run. Call it again with arguments that follow its schema.";

interface Start {
  readonly call: ToolCall;
  readonly resultId: MessageId;
  readonly journal: Journal;
  readonly allowedBy?: string | undefined;
  readonly decided?: CallDecision | undefined;
}

/** Nobody asks how long anything shorter took. */
const minShownMs = 1_000;

async function startTool(
  deps: ToolDeps,
  run: RunHandle,
  tool: Tool,
  { call, resultId, journal, allowedBy, decided }: Start,
): Promise<ToolEnd> {
  const { callId, input } = call;
  const { name, replay } = tool;
  const declared = await declaredTaint(deps, tool, call);
  const snapshot = await tool.snapshot?.(call, run.signal).catch(() => undefined);
  await journal.record(
    run.event("tool.started", {
      callId,
      resultId,
      name,
      input,
      replay,
      ...(allowedBy !== undefined && { allowedBy }),
      ...(decided !== undefined && { decided }),
      ...recordedMode(call.mode ?? defaultMode),
      ...(declared.length > 0 && { taint: [...declared] }),
      ...(snapshot !== undefined && { snapshot }),
      ...spillMarkFor(deps.spills, run),
    }),
  );
  // A start that cannot be recorded also loses the run: another runner owns it, so do not start the tool here.
  if (run.lost !== null) return { callId, name, resultId, outcome: "cancelled", output: "" };
  const startedAt = deps.clock.now();
  const result = await runWithTimeLimit(
    deps,
    tool,
    run,
    snapshot === undefined ? call : { ...call, snapshot },
    journal,
  );
  const tookMs = Math.round(deps.clock.now() - startedAt);
  const stored = await storeOutput(deps.log.store, run.owner, result.output);
  const { outcome } = result;
  const { output, blobId = result.blobId } = stored;
  const details = fittingDetails(
    tookMs < minShownMs ? result.details : { ...result.details, tookMs },
  );
  const found = mergeTaint(result.taint ?? []);
  const { images, skill } = result;
  const extras = {
    ...(blobId && { blobId }),
    ...(details && { details }),
    ...(images && { images: [...images] }),
    ...(skill && { skill }),
  };
  await journal.record(
    run.event("tool.ended", {
      callId,
      resultId,
      outcome,
      output,
      ...extras,
      ...(found.length > 0 && { taint: [...found] }),
    }),
  );
  const taint = mergeTaint(declared, found);
  return { callId, name, resultId, outcome, output, ...extras, taint };
}

/** Known before the tool starts, so that it holds however the call ends. */
async function declaredTaint(
  { toolPolicy }: ToolDeps,
  tool: Tool,
  call: ToolCall,
): Promise<readonly TaintSource[]> {
  const question = { ...call, name: tool.name, asks: "none" } as const;
  const byRules = (await toolPolicy?.taints?.(question).catch(() => [])) ?? [];
  return mergeTaint(tool.taint?.(call.input) ?? [], byRules);
}

/** A result without its details is better than no result. */
function fittingDetails(details: ToolDetails | undefined): ToolDetails | undefined {
  const decoded = toolDetails.safeParse(details);
  if (!decoded.success || jsonSize(decoded.data) > sizeLimits.toolDetails) return undefined;
  return decoded.data;
}

/** Larger output goes to a blob, and the row keeps its beginning and end. In bytes, as stored. */
const maxRowBytes = 64 * 1024;
const headLength = 12 * 1024;
const tailLength = 4 * 1024;
/** Control characters take six bytes each, and the results of all calls of a step share one commit. */
const maxHeadBytes = 3 * headLength + 2;

export interface StoredOutput {
  readonly output: string;
  readonly blobId?: BlobId;
}

/**
 * Prepares a tool's output for storage. The row names what was left out, for the person and for the model. If the blob
 * cannot be stored, the middle of the output is lost, and the row says so.
 */
async function storeOutput(
  store: Pick<Store, "putBlob">,
  owner: OwnerId,
  output: string,
): Promise<StoredOutput> {
  // A character takes one to six bytes, so most output is decided without encoding it.
  if (output.length * 6 + 2 <= maxRowBytes || jsonSize(output) <= maxRowBytes) return { output };
  const bytes = new TextEncoder().encode(output);
  const put = await store.putBlob(owner, bytes, "text/plain; charset=utf-8");
  const whole =
    put.status === "stored" ? `the whole is kept as ${put.id}` : "it could not be kept and is lost";
  const note = `[${bytes.byteLength} bytes in all. The middle is left out here; ${whole}.]`;
  const head = truncateToBytes(output.slice(0, headLength), maxHeadBytes).toWellFormed();
  const tail = output.slice(-tailLength).toWellFormed();
  return {
    output: `${head}\n\n${note}\n\n${tail}`,
    ...(put.status === "stored" && { blobId: put.id }),
  };
}
