import {
  type BlobId,
  type MessageId,
  type ToolDetails,
  toolDetails,
  type ToolOutcome,
  type OwnerId,
} from "@holdfast/protocol";
import type { Clock } from "../ports/clock.ts";
import type { SpillStore } from "../ports/spill.ts";
import type { ModelCall } from "../ports/model.ts";
import type { Tool, ToolCall, ToolContext } from "../ports/tool.ts";
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
  callRefusals,
  decideCalls,
  type CallVerdict,
  type CallPolicyDeps,
} from "./approvals.ts";
import type { Store } from "../ports/store.ts";

export interface ToolDeps extends CallPolicyDeps {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly clock: Clock;
  readonly spills?: SpillStore | undefined;
  readonly raiseFence: () => Promise<void>;
}

/** A tool that ignores its signal is left alone after this time. */
const abandonAfterMs = 5_000;

/**
 * Works off the calls of a message. Those that need nobody's word run side by side and settle in one commit; then one
 * commit asks for all the others and puts the run to rest. P7: each is recorded as started before it starts, and one that a
 * dead runner had started is not started again unless it says that this is safe.
 */
export async function runTools(
  deps: ToolDeps,
  run: RunHandle,
  asked: StepEntries & { readonly calls: readonly ModelCall[] },
  journal: Journal,
): Promise<void> {
  const { calls } = asked;
  const known = journal.fold().tools;
  const todo = calls.map((call) => ({ call, before: known.get(call.callId) }));
  const fresh = todo.flatMap(({ call, before }) => {
    const tool = call.malformed ? undefined : deps.tools.get(call.name);
    return before === undefined && tool !== undefined ? [{ call, tool }] : [];
  });
  const sorted = await decideCalls(deps, run, fresh);
  const verdicts = new Map(fresh.map(({ call }, index) => [call.callId, sorted[index]]));
  const asks = calls.flatMap((call) => {
    const verdict = verdicts.get(call.callId);
    return verdict?.kind === "ask" ? [{ call, verdict }] : [];
  });
  const now = todo.filter(({ call }) => verdicts.get(call.callId)?.kind !== "ask");
  const ends = await Promise.all(
    now.map(({ call, before }) =>
      finishCall(deps, run, call, { journal, before, verdict: verdicts.get(call.callId) }),
    ),
  );
  if (!(await journal.flush())) return;
  if (ends.some(({ outcome }) => outcome === "unknown")) await deps.raiseFence();
  const { tools } = journal.fold();
  const told = await markStartedAsUnknown(deps.log.store.reads, asked, ends, tools);
  const settled = told.map((end) => settledTool(run, end, tools.get(end.callId)?.deltas ?? []));
  if (settled.length > 0 && (await run.write(settled)) === null) return;
  if (asks.length > 0 && !run.cancelled) await requestApprovals(run, asks);
}

/** From here on it is a person's turn: the run gives its lease up, and nothing is lost with its runner. */
async function requestApprovals(
  run: RunHandle,
  calls: readonly {
    readonly call: ModelCall;
    readonly verdict: Extract<CallVerdict, { kind: "ask" }>;
  }[],
): Promise<void> {
  const asked = calls.map(({ call: { callId, name, input }, verdict: { inputHash, details } }) => {
    const approvalId = run.ids.make("approval");
    return run.event("approval.asked", { approvalId, callId, name, input, inputHash, ...details });
  });
  const waiting = run.event("run.state", { state: "waiting" });
  if ((await run.write([...asked, waiting])) === null) return;
  // A cancel that came just before found a run under way, and left its end to us.
  if (!run.cancelled) run.lose("rests");
}

async function finishCall(
  deps: ToolDeps,
  run: RunHandle,
  call: ModelCall,
  rest: {
    readonly journal: Journal;
    readonly before: StreamedTool | undefined;
    readonly verdict: CallVerdict | undefined;
  },
): Promise<ToolEnd> {
  const { journal, before, verdict } = rest;
  if (before !== undefined && (before.ended !== null || before.started.replay === "never"))
    return toolEndOf(before);
  const { callId, name } = call;
  const resultId = before?.started.resultId ?? run.ids.make("message");
  if (call.malformed)
    return { callId, name, resultId, outcome: "failed", output: malformedArguments };
  const tool = deps.tools.get(name);
  if (tool === undefined)
    return { callId, name, resultId, outcome: "failed", output: `There is no tool ${name}.` };
  if (verdict?.kind === "refused") return { callId, name, resultId, ...refusedResult(verdict.why) };
  if (verdict?.kind === "failed")
    return { callId, name, resultId, outcome: "failed", output: verdict.words };
  if (run.signal.aborted) return { callId, name, resultId, outcome: "cancelled", output: "" };
  const { owner, session, runId } = run;
  const asked = { owner, session, runId, callId, input: call.input };
  if (verdict?.kind === "run") {
    const { kind: _, allowedBy, ...bound } = verdict;
    return startTool(deps, run, tool, {
      call: { ...asked, ...bound },
      resultId,
      journal,
      allowedBy,
    });
  }
  // One that may begin again works where it works now; whoever began it before knew a place of their own.
  const place = await resolvePlace(tool, asked);
  if ("words" in place) return { callId, name, resultId, outcome: "failed", output: place.words };
  return startTool(deps, run, tool, { call: { ...asked, ...place }, resultId, journal });
}

/** Told to the model in words, and to people by a word of its own: a no is not the end of a run. */
function refusedResult(why: keyof typeof callRefusals): ToolOutcomeResult {
  return { outcome: "cancelled", output: callRefusals[why], details: { refusal: why } };
}

const malformedArguments =
  "The arguments were not a JSON object, so nothing was run. Call it again with arguments that follow its schema.";

interface Start {
  readonly call: ToolCall;
  readonly resultId: MessageId;
  readonly journal: Journal;
  readonly allowedBy?: string | undefined;
}

async function startTool(
  deps: ToolDeps,
  run: RunHandle,
  tool: Tool,
  { call, resultId, journal, allowedBy }: Start,
): Promise<ToolEnd> {
  const { callId, input } = call;
  const { name, replay } = tool;
  const started = await journal.record(
    run.event("tool.started", {
      callId,
      resultId,
      name,
      input,
      replay,
      ...(allowedBy !== undefined && { allowedBy }),
      ...spillMarkFor(deps.spills, run),
    }),
  );
  // A run that was lost while this was on its way is somebody else's: what is not begun is not begun here.
  if (!started || run.lost !== null)
    return { callId, name, resultId, outcome: "cancelled", output: "" };
  const result = await runWithTimeLimit(deps.clock, tool, run, call, journal);
  const kept = await storeOutput(deps.log.store, run.owner, result.output);
  const { outcome } = result;
  const { output, blobId = result.blobId } = kept;
  const details = fittingDetails(result.details);
  const more = { ...(blobId && { blobId }), ...(details && { details }) };
  await journal.record(run.event("tool.ended", { callId, resultId, outcome, output, ...more }));
  return { callId, name, resultId, outcome, output, ...more };
}

interface ToolOutcomeResult {
  readonly outcome: ToolOutcome;
  readonly output: string;
  readonly blobId?: BlobId | undefined;
  readonly details?: ToolDetails | undefined;
}

/** A result stands without its details rather than not at all. */
function fittingDetails(details: ToolDetails | undefined): ToolDetails | undefined {
  const decoded = toolDetails.safeParse(details);
  if (!decoded.success || jsonSize(decoded.data) > sizeLimits.toolDetails) return undefined;
  return decoded.data;
}

/** Runs a tool within its time. Whatever it does, there is a result, and nothing that it writes afterwards counts. */
async function runWithTimeLimit(
  clock: Clock,
  tool: Tool,
  run: RunHandle,
  call: ToolCall,
  journal: Journal,
): Promise<ToolOutcomeResult> {
  const over = new AbortController();
  const finished = new AbortController();
  const signal = AbortSignal.any([run.signal, over.signal]);
  const waiting = AbortSignal.any([finished.signal, run.signal]);
  const limit = clock.sleep(tool.timeLimitMs, waiting).then(() => over.abort());
  const work = runTool(tool, call, {
    signal,
    write: outputWriter(call, journal, finished.signal),
  });
  const abandoned = limit
    .then(() => clock.sleep(abandonAfterMs, finished.signal))
    .then((): ToolOutcomeResult => ({
      outcome: "unknown",
      output: "The tool did not stop when it was told to, and was left alone.",
    }));
  const result = await Promise.race([work, abandoned]);
  const isOver = over.signal.aborted;
  finished.abort();
  const { output } = result;
  if (result.outcome === "ok" || result.outcome === "unknown") return result;
  if (run.cancelled) return { outcome: "cancelled", output };
  if (!isOver) return result;
  return {
    outcome: "failed",
    output: `${output}\nThe time limit of ${tool.timeLimitMs} ms was over.`.trim(),
  };
}

/** An exception is taken for a failure, whenever it comes. */
async function runTool(tool: Tool, call: ToolCall, hands: ToolContext): Promise<ToolOutcomeResult> {
  try {
    return await tool.run(call, hands);
  } catch (error) {
    return { outcome: "failed", output: error instanceof Error ? error.message : String(error) };
  }
}

/** Takes output as long as the tool runs and as much as can be kept. */
function outputWriter(
  call: ToolCall,
  journal: Journal,
  finished: AbortSignal,
): (text: string) => void {
  let room: number = sizeLimits.toolOutput;
  return (text) => {
    if (finished.aborted || text === "" || room <= 0) return;
    const kept = truncateToBytes(text, room);
    room = kept === text ? room - jsonSize(text) : 0;
    if (kept !== "") void journal.addOutput(call.callId, kept);
  };
}

/** What is larger goes to a blob, once; its beginning and its end stay in the row. In bytes, as it is stored. */
const maxRowBytes = 64 * 1024;
const headLength = 12 * 1024;
const tailLength = 4 * 1024;
/** Control characters are stored in six bytes each; the results of all calls of a step go into one commit. */
const maxHeadBytes = 3 * headLength + 2;

export interface StoredOutput {
  readonly output: string;
  readonly blobId?: BlobId;
}

/**
 * A tool's output as it is kept. What is left out of the row is named in it, for the person and for the model. A blob
 * that cannot be put costs the middle of the output, and the row says so.
 */
async function storeOutput(
  store: Pick<Store, "putBlob">,
  owner: OwnerId,
  output: string,
): Promise<StoredOutput> {
  // A character is stored in one to six bytes: most output is decided without making its bytes.
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
