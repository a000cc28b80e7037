import {
  type BlobId,
  type CallId,
  type EventData,
  type IdSource,
  type MessageId,
  newEvent,
  type NewEvent,
  type Part,
  type RequestRecord,
  type RunId,
  type ToolDetails,
  type ToolOutcome,
} from "@holdfast/protocol";

import type { ModelCall, ModelUsage } from "../ports/model.ts";
import type { StreamedMessage, StreamedTool } from "./fold-step.ts";
import type { RunHandle } from "./run-handle.ts";

/** What it takes to make a run's events, for whoever settles it. */
export type RunEvents = Pick<RunHandle, "event" | "ids" | "runId">;

export function createRunEvents(ids: IdSource, runId: RunId): RunEvents {
  return {
    ids,
    runId,
    event: (type, data) => newEvent(ids.make("event"), type, data, runId),
  };
}

export type PartialCause = "cancelled" | "interrupted" | "failed" | "limit";

/** The entry that stands for a streamed message. One that ended early says why. */
export function settledMessage(
  run: RunEvents,
  streamed: StreamedMessage | null,
  rest: {
    readonly model: string;
    readonly calls?: readonly ModelCall[];
    /** What the model was sent for it. */
    readonly request?: RequestRecord;
    readonly partial?: PartialCause;
  },
): readonly NewEvent[] {
  const calls = (rest.calls ?? []).map((call): Part => ({ type: "tool_call", ...call }));
  const parts = [...(streamed?.parts ?? []), ...calls];
  if (parts.length === 0 && streamed === null) return [];
  return [
    run.event("message.assistant", {
      messageId: streamed?.messageId ?? run.ids.make("message"),
      parts,
      model: rest.model,
      ...(rest.request && { request: rest.request }),
      ...(rest.partial && { partial: rest.partial }),
      ...(streamed && { deltas: [...streamed.deltas], timing: [...streamed.timing] }),
    }),
  ];
}

/** Calls that stand in a spill alone. */
export function asRecovered(calls: readonly ModelCall[]): readonly ModelCall[] {
  return calls.map((call) => ({ ...call, recovered: true }));
}

export interface ToolEnd {
  readonly callId: CallId;
  readonly resultId: MessageId;
  readonly name: string;
  readonly outcome: ToolOutcome;
  readonly output: string;
  readonly blobId?: BlobId | undefined;
  readonly details?: ToolDetails | undefined;
  readonly recovered?: true | undefined;
}

/** How a tool ended, as far as its journal tells. P7: one that was started and not seen to end is unknown. */
export function toolEndOf(tool: StreamedTool): ToolEnd {
  const { callId, resultId, name } = tool.started;
  if (tool.ended === null)
    return { callId, name, resultId, outcome: "unknown", output: tool.output };
  const { outcome, output, blobId, details } = tool.ended;
  return { callId, name, resultId, outcome, output, blobId, details, recovered: tool.recovered };
}

/** The entry that stands for a tool and its streamed output. */
export function settledTool(
  run: RunEvents,
  end: ToolEnd,
  deltas: StreamedTool["deltas"],
): NewEvent {
  const { callId, resultId, name, outcome, output, blobId, details, recovered } = end;
  const marks = {
    ...(blobId && { blobId }),
    ...(details && { details }),
    ...(recovered && { recovered }),
  };
  return run.event("message.tool", {
    messageId: resultId,
    parts: [{ type: "tool_result", callId, name, outcome, output, ...marks }],
    ...(deltas.length > 0 && { deltas: [...deltas] }),
  });
}

/** The entries that say of calls that they were not run, and why; of those that were begun, that nobody knows. */
export function unrunResults(
  run: RunEvents,
  calls: readonly ModelCall[],
  output: string,
  begun: ReadonlySet<unknown> = new Set(),
): readonly NewEvent[] {
  return calls.map(({ callId, name }) => {
    const resultId = run.ids.make("message");
    const end = begun.has(callId)
      ? ({ outcome: "unknown", output: "" } as const)
      : ({ outcome: "cancelled", output } as const);
    return settledTool(run, { callId, name, resultId, ...end }, []);
  });
}

export function usageEvent(
  run: RunEvents,
  model: string,
  usage: ModelUsage | null,
): readonly NewEvent[] {
  return usage === null ? [] : [run.event("usage.recorded", usageData(model, usage))];
}

/** A model call as the ledger takes it. */
export function usageData(model: string, usage: ModelUsage): EventData<"usage.recorded"> {
  const { input, output, cacheRead, cacheWrite, costMicros } = usage;
  return {
    model,
    input: toCount(input),
    output: toCount(output),
    ...(cacheRead !== undefined && { cacheRead: toCount(cacheRead) }),
    ...(cacheWrite !== undefined && { cacheWrite: toCount(cacheWrite) }),
    ...(costMicros !== undefined && { costMicros: toCount(costMicros) }),
  };
}

/** Ten thousand dollars for one call: above it a count is nonsense, and sums of nonsense must stay sums. */
const maxUsageCount = 10_000_000_000;

/** What a provider counts is not always a whole number, or one at all. */
function toCount(count: number): number {
  return count > 0 ? Math.min(Math.round(count), maxUsageCount) : 0;
}
