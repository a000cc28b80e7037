import {
  type BlobId,
  type ShownImage,
  type SkillMark,
  type TaintSource,
  type TimedResult,
  type ToolDetails,
  type ToolOutcome,
  withTimeout,
} from "@holdfast/protocol";
import type { Log } from "../../log/log.ts";
import type { Clock } from "../../ports/clock.ts";
import type { PersonsAnswer, Tool, ToolCall, ToolContext, ToolQuestion } from "../../ports/tool.ts";
import type { Journal } from "../journal.ts";
import type { RunHandle } from "../run-handle.ts";
import { jsonSize, sizeLimits, truncateToBytes } from "../settle.ts";
import { askPerson } from "./ask-person.ts";

/** How long a tool may ignore its signal earlier it is abandoned. */
const abandonAfterMs = 5_000;

export interface ToolOutcomeResult {
  readonly outcome: ToolOutcome;
  readonly output: string;
  readonly blobId?: BlobId | undefined;
  readonly details?: ToolDetails | undefined;
  readonly images?: readonly ShownImage[] | undefined;
  readonly skill?: SkillMark | undefined;
  readonly taint?: readonly TaintSource[] | undefined;
}

const abandoned: ToolOutcomeResult = {
  outcome: "unknown",
  output: "The tool did not stop when it was told to, and was left alone.",
};

/** Time spent waiting for people, which does not count as a tool's own. */
interface Waits {
  during<T>(wait: () => Promise<T>): Promise<T>;
  /** Including a wait that goes on. */
  totalMs(): number;
  /** Resolves when nothing waits any more. */
  over(): Promise<void>;
}

function createWaits(clock: Clock): Waits {
  let open = 0;
  let pastMs = 0;
  let since = 0;
  let over = Promise.withResolvers<void>();
  over.resolve();
  return {
    async during(wait) {
      if (open === 0) {
        since = clock.now();
        over = Promise.withResolvers<void>();
      }
      open += 1;
      try {
        return await wait();
      } finally {
        open -= 1;
        if (open === 0) {
          pastMs += clock.now() - since;
          over.resolve();
        }
      }
    },
    totalMs: () => pastMs + (open === 0 ? 0 : clock.now() - since),
    over: () => over.promise,
  };
}

async function finishInTime<T>(
  clock: Clock,
  signal: AbortSignal,
  limitMs: number,
  waits: Waits,
  work: Promise<T>,
): Promise<TimedResult<T>> {
  const startedAt = clock.now();
  let leftMs = limitMs;
  for (;;) {
    const result = await withTimeout({ clock, ms: leftMs, signal }, () => work);
    if (result.status !== "late") return result;
    const leave = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => leave.resolve(), { once: true });
    await Promise.race([waits.over(), work, leave.promise]);
    leftMs = limitMs - (clock.now() - startedAt - waits.totalMs());
    if (leftMs <= 0) return result;
  }
}

/**
 * Runs a tool within its time limit. Whatever it does, there is a result, and output it writes afterwards is ignored.
 */
export async function runWithTimeLimit(
  { log, clock }: { readonly log: Log; readonly clock: Clock },
  tool: Tool,
  run: RunHandle,
  call: ToolCall,
  journal: Journal,
): Promise<ToolOutcomeResult> {
  const { callId } = call;
  const finished = new AbortController();
  const write = outputWriter(call, journal, finished.signal);
  const limit = new AbortController();
  const signal = AbortSignal.any([run.signal, limit.signal]);
  const waits = createWaits(clock);
  const ask = (question: ToolQuestion): Promise<PersonsAnswer> =>
    signal.aborted || finished.signal.aborted
      ? Promise.resolve({ status: "stopped" })
      : waits.during(() => askPerson({ log, clock }, run, { callId, name: tool.name }, question));
  const work = runTool(tool, call, { signal, write, ask });
  const inTime = await finishInTime(clock, run.signal, tool.timeLimitMs, waits, work);
  const timedOut = inTime.status !== "done";
  limit.abort();
  // The tool was asked to stop, and gets a moment to do so.
  const ended = timedOut ? await withTimeout({ clock, ms: abandonAfterMs }, () => work) : inTime;
  finished.abort();
  const result = ended.status === "done" ? ended.value : abandoned;
  const { output } = result;
  if (result.outcome === "ok" || result.outcome === "unknown") return result;
  if (run.cancelled) return { outcome: "cancelled", output };
  if (!timedOut) return result;
  return {
    outcome: "failed",
    output: `${output}\nThe time limit of ${tool.timeLimitMs} ms was over.`.trim(),
  };
}

/** An exception counts as a failure, whenever it is thrown. */
async function runTool(
  tool: Tool,
  call: ToolCall,
  context: ToolContext,
): Promise<ToolOutcomeResult> {
  try {
    return await tool.run(call, context);
  } catch (error) {
    return { outcome: "failed", output: error instanceof Error ? error.message : String(error) };
  }
}

/** Accepts output while the tool runs, up to the size limit. */
function outputWriter(
  call: ToolCall,
  journal: Journal,
  finished: AbortSignal,
): (text: string) => void {
  let roomBytes: number = sizeLimits.toolOutput;
  return (text) => {
    if (finished.aborted || text === "" || roomBytes <= 0) return;
    const fitting = truncateToBytes(text, roomBytes);
    roomBytes = fitting === text ? roomBytes - jsonSize(text) : 0;
    if (fitting !== "") void journal.addOutput(call.callId, fitting);
  };
}
