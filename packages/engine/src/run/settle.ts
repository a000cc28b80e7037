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
  type OwnerId,
  type Seq,
  type SessionId,
  type StoredEvent,
} from "@holdfast/protocol";
import type { ModelCall, ModelUsage } from "../ports/model.ts";
import type { StreamedMessage, StreamedTool } from "./fold-step.ts";
import type { RunHandle } from "./run-handle.ts";
import { pendingCalls } from "../context/build-context.ts";
import type { Reads } from "../ports/reads.ts";
import { callRefusals } from "./approvals.ts";
import type { MemoryOwner } from "../ports/memory.ts";

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
function unrunResults(
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

const pageSize = 500;

/** Where a run's calls were asked for. */
export interface StepEntries {
  readonly owner: OwnerId;
  readonly session: SessionId;
  /** The newest entries; the answer that asks for the calls is among them. */
  readonly entries: readonly StoredEvent[];
}

/**
 * P7: which calls of the newest answer were ever begun, also by a runner whose journal a take-over has put aside. Of these
 * nobody may say that they were not run.
 */
async function startedCalls(
  reads: Reads,
  { owner, session, entries }: StepEntries,
): Promise<ReadonlySet<unknown>> {
  const begun = new Set<unknown>();
  const asked = entries.findLast(({ type }) => type === "message.assistant");
  let after: Seq | undefined = asked?.seq;
  while (after !== undefined) {
    const page = await reads.events(owner, session, { after, limit: pageSize });
    for (const { type, data } of page?.events ?? [])
      if (type === "tool.started") begun.add(data["callId"]);
    after = page?.more === true ? page.events.at(-1)?.seq : undefined;
  }
  return begun;
}

/**
 * P7: what a run that ends has to say of the calls that it leaves: those that nobody began were not run, and of the
 * others nobody knows. Calls in `told` are told elsewhere; `unstored` are those of an answer that is stored with this.
 */
export async function settleUnrunCalls(
  reads: Reads,
  run: RunEvents,
  place: StepEntries,
  rest: {
    readonly told?: { has(callId: CallId): boolean };
    readonly unstored?: readonly ModelCall[];
  } = {},
): Promise<readonly NewEvent[]> {
  const { told = new Set(), unstored = [] } = rest;
  const calls = [...pendingCalls(place.entries), ...unstored].filter(
    ({ callId }) => !told.has(callId),
  );
  if (calls.length === 0) return [];
  return unrunResults(run, calls, callRefusals.cancelled, await startedCalls(reads, place));
}

/** P7: a call that this runner did not run may have been begun by one before: how that went, nobody knows. */
export async function markStartedAsUnknown(
  reads: Reads,
  place: StepEntries,
  ends: readonly ToolEnd[],
  own: { has(callId: CallId): boolean },
): Promise<readonly ToolEnd[]> {
  if (ends.every(({ callId }) => own.has(callId))) return ends;
  const begun = await startedCalls(reads, place);
  return ends.map((end) =>
    own.has(end.callId) || !begun.has(end.callId)
      ? end
      : { ...end, outcome: "unknown", output: "" },
  );
}

/** Who has to remember a turn; `null`: nobody, it is a throw-away one or there is no memory. */
export type MemoryOwnerOf = (run: RunHandle) => MemoryOwner | null;

/**
 * Says that the turn is to be remembered. It goes behind the run's completion, into the same commit: a completion that
 * is refused because of a cancel takes its mark along. P10: nothing is committed here.
 */
export function memoryMark(
  remembers: MemoryOwnerOf | undefined,
  run: RunHandle,
): readonly NewEvent[] {
  const owner = remembers?.(run) ?? null;
  if (owner === null) return [];
  const { provider, configuration } = owner;
  return [run.event("memory.marked", { owner: { provider, configuration } })];
}

/**
 * What one message, one tool's output and one call may grow to, so that every settlement fits into an event with room to
 * spare. Counted as the JSON text that is stored, in bytes.
 */
export const sizeLimits = {
  /** Its calls included. */
  message: 768 * 1024,
  toolOutput: 512 * 1024,
  /** All calls of a step settle in one commit, with their outputs. */
  toolDetails: 12 * 1024,
  /** What all tools of a step had said that its runner did not live to settle. */
  leftovers: 6 * 1024 * 1024,
  callInput: 128 * 1024,
  calls: 100,
  input: 768 * 1024,
} as const;

/** Characters that stand for themselves in JSON, in one byte each. */
const plainAscii = /^[ !#-[\]-~]*$/;

export function jsonSize(value: unknown): number {
  if (typeof value === "string" && plainAscii.test(value)) return value.length + 2;
  return Buffer.byteLength(JSON.stringify(value) ?? "");
}

/** The beginning that fits, cut between characters. */
export function truncateToBytes(text: string, bytes: number): string {
  if (jsonSize(text) <= bytes) return text;
  let end = Math.min(text.length, bytes);
  while (end > 0 && jsonSize(text.slice(0, end)) > bytes) end = Math.floor(end * 0.8);
  return text.slice(0, end).toWellFormed();
}
