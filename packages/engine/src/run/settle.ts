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
  isUnlimited,
  mergeTaint,
  ownerRights,
  type Rights,
  type RunId,
  type ShownImage,
  type SkillMark,
  type TaintSource,
  type ToolDetails,
  type ToolOutcome,
  type OwnerId,
  type Seq,
  type SessionId,
  type StoredEvent,
} from "@holdfast/protocol";
import type { ModelCall, ModelUsage } from "../ports/model.ts";
import type { StoredImages } from "./answer-images.ts";
import type { StreamedMessage, StreamedTool } from "./fold-step.ts";
import type { RunHandle } from "./run-handle.ts";
import { pendingCalls } from "../context/build-context.ts";
import type { Reads } from "../ports/reads.ts";
import { callRefusals } from "./approvals.ts";
import type { MemoryOwner } from "../ports/memory.ts";

/**
 * How large a message, a tool's output and a call may get, so that every settlement fits into an event with room to
 * spare. In bytes of the stored JSON.
 */
export const sizeLimits = {
  /** Including its calls. */
  message: 768 * 1024,
  toolOutput: 512 * 1024,
  /** All calls of a step settle in one commit together with their outputs. */
  toolDetails: 12 * 1024,
  /** The output of all tools of a step that its runner did not live to settle. */
  leftovers: 6 * 1024 * 1024,
  callInput: 128 * 1024,
  calls: 100,
  input: 768 * 1024,
} as const;

/** What is needed to create a run's events, for whoever settles it. */
export type RunEvents = Pick<RunHandle, "event" | "ids" | "runId">;

export function createRunEvents(ids: IdSource, runId: RunId): RunEvents {
  return {
    ids,
    runId,
    event: (type, data) => newEvent(ids.make("event"), type, data, runId),
  };
}

export type PartialCause = "cancelled" | "interrupted" | "failed" | "limit";

/** The entry for a streamed message, and a notice on each picture left out. If it ended early, it says why. */
export function settledMessage(
  run: RunEvents,
  streamed: StreamedMessage | null,
  settlement: {
    readonly model: string;
    readonly calls?: readonly ModelCall[];
    readonly images?: StoredImages;
    /** The record of the request that produced it. */
    readonly request?: RequestRecord;
    readonly partial?: PartialCause;
  },
): readonly NewEvent[] {
  const calls = (settlement.calls ?? []).map((call): Part => ({ type: "tool_call", ...call }));
  const { stored = [], leftOut = [] } = settlement.images ?? {};
  const images = stored.map((image): Part => ({ type: "image", ...image }));
  const parts = [...(streamed?.parts ?? []), ...images, ...calls];
  const notices = leftOut.map((text) =>
    run.event("notice.added", { noticeId: run.ids.make("notice"), kind: "image_left_out", text }),
  );
  if (parts.length === 0 && streamed === null) return notices;
  return [
    run.event("message.assistant", {
      messageId: streamed?.messageId ?? run.ids.make("message"),
      parts,
      model: settlement.model,
      ...(settlement.request && { request: settlement.request }),
      ...(settlement.partial && { partial: settlement.partial }),
      ...(streamed && { deltas: [...streamed.deltas], timing: [...streamed.timing] }),
    }),
    ...notices,
  ];
}

/** Marks calls that only a spill recorded. */
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
  readonly images?: readonly ShownImage[] | undefined;
  readonly skill?: SkillMark | undefined;
  readonly recovered?: true | undefined;
  readonly taint?: readonly TaintSource[] | undefined;
}

/** How a tool ended according to its journal. P7: one that started and has no recorded end is unknown. */
export function toolEndOf(tool: StreamedTool): ToolEnd {
  const { callId, resultId, name } = tool.started;
  const taint = mergeTaint(tool.started.taint ?? [], tool.ended?.taint ?? []);
  const call = { callId, name, resultId, taint };
  if (tool.ended === null) return { ...call, outcome: "unknown", output: tool.output };
  const { outcome, output, blobId, details, images, skill } = tool.ended;
  return { ...call, outcome, output, blobId, details, images, skill, recovered: tool.recovered };
}

/** The entry for a tool and its streamed output. */
export function settledTool(
  run: RunEvents,
  end: ToolEnd,
  deltas: StreamedTool["deltas"],
): NewEvent {
  const { callId, resultId, name, outcome, output } = end;
  const { blobId, details, images, skill, recovered, taint = [] } = end;
  const marks = {
    ...(taint.length > 0 && { taint: [...taint] }),
    ...(blobId && { blobId }),
    ...(details && { details }),
    ...(images && { images: [...images] }),
    ...(skill && { skill }),
    ...(recovered && { recovered }),
  };
  return run.event("message.tool", {
    messageId: resultId,
    parts: [{ type: "tool_result", callId, name, outcome, output, ...marks }],
    ...(deltas.length > 0 && { deltas: [...deltas] }),
  });
}

/** Results for calls that did not run, saying why; calls that did start are unknown. */
function unrunResults(
  run: RunEvents,
  calls: readonly ModelCall[],
  output: string,
  started: ReadonlySet<unknown> = new Set(),
): readonly NewEvent[] {
  return calls.map(({ callId, name }) => {
    const resultId = run.ids.make("message");
    const end = started.has(callId)
      ? ({ outcome: "unknown", output: "" } as const)
      : ({ outcome: "cancelled", output } as const);
    return settledTool(run, { callId, name, resultId, ...end }, []);
  });
}

export function usageEvent(
  run: RunEvents,
  model: string,
  usage: ModelUsage | null,
  rights: Rights = ownerRights,
): readonly NewEvent[] {
  if (usage === null) return [];
  const under = isUnlimited(rights) ? {} : { profile: rights.profile };
  return [run.event("usage.recorded", { ...usageData(model, usage), ...under })];
}

/** A model call's usage as the ledger stores it. */
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

/** Ten thousand dollars for one call: anything above is nonsense, and must not overflow the sums. */
const maxUsageCount = 10_000_000_000;

/** Providers do not always report whole numbers, or numbers at all. */
function toCount(count: number): number {
  return count > 0 ? Math.min(Math.round(count), maxUsageCount) : 0;
}

const pageSize = 500;

/** Where a run's calls were requested. */
export interface StepEntries {
  readonly owner: OwnerId;
  readonly session: SessionId;
  /** The newest entries, including the answer that requested the calls. */
  readonly entries: readonly StoredEvent[];
}

/**
 * P7: the calls of the newest answer that ever started, including under a runner whose journal a take-over discarded.
 * None of them may be reported as not run.
 */
async function startedCalls(
  reads: Reads,
  { owner, session, entries }: StepEntries,
): Promise<ReadonlySet<unknown>> {
  const started = new Set<unknown>();
  const answer = entries.findLast(({ type }) => type === "message.assistant");
  let after: Seq | undefined = answer?.seq;
  while (after !== undefined) {
    const page = await reads.events(owner, session, { after, limit: pageSize });
    for (const { type, data } of page?.events ?? [])
      if (type === "tool.started") started.add(data["callId"]);
    after = page?.more === true ? page.events.at(-1)?.seq : undefined;
  }
  return started;
}

/**
 * P7: results for the calls that an ending run leaves open: those that never started were not run, the others are
 * unknown. Calls in `alreadySettled` have their result elsewhere; `unstored` are the calls of an answer stored in the
 * same commit.
 */
export async function settleUnrunCalls(
  reads: Reads,
  run: RunEvents,
  stepEntries: StepEntries,
  settlement: {
    readonly alreadySettled?: { has(callId: CallId): boolean };
    readonly unstored?: readonly ModelCall[];
    /** Why they were not run; by default because the run was cancelled. */
    readonly output?: string;
  } = {},
): Promise<readonly NewEvent[]> {
  const { alreadySettled = new Set(), unstored = [] } = settlement;
  const { output = callRefusals.cancelled } = settlement;
  const calls = [...pendingCalls(stepEntries.entries), ...unstored].filter(
    ({ callId }) => !alreadySettled.has(callId),
  );
  if (calls.length === 0) return [];
  return unrunResults(run, calls, output, await startedCalls(reads, stepEntries));
}

/** P7: a call this runner did not run may have been started by an earlier one: its outcome is unknown. */
export async function markStartedAsUnknown(
  reads: Reads,
  stepEntries: StepEntries,
  ends: readonly ToolEnd[],
  ranHere: { has(callId: CallId): boolean },
): Promise<readonly ToolEnd[]> {
  if (ends.every(({ callId }) => ranHere.has(callId))) return ends;
  const started = await startedCalls(reads, stepEntries);
  return ends.map((end) =>
    ranHere.has(end.callId) || !started.has(end.callId)
      ? end
      : { ...end, outcome: "unknown", output: "" },
  );
}

/** Which provider has to remember a turn; `null` for a throw-away turn or without memory. */
export type MemoryOwnerOf = (run: RunHandle) => MemoryOwner | null;

/**
 * Marks the turn as to be remembered, if its message may write to memory. The mark follows the run's completion in the same commit, so a completion refused
 * because of a cancel takes its mark with it. P10: nothing is committed here.
 */
export function memoryMark(
  memoryOwnerOf: MemoryOwnerOf | undefined,
  run: RunHandle,
  { rights, taint }: { readonly rights: Rights; readonly taint: readonly TaintSource[] },
): readonly NewEvent[] {
  const owner = rights.memory === "write" ? (memoryOwnerOf?.(run) ?? null) : null;
  if (owner === null) return [];
  const { provider, configuration } = owner;
  return [
    run.event("memory.marked", {
      owner: { provider, configuration },
      ...(taint.length > 0 && { taint: [...taint] }),
    }),
  ];
}

/** Characters that JSON stores unescaped, in one byte each. */
const plainAscii = /^[ !#-[\]-~]*$/;

export function jsonSize(value: unknown): number {
  if (typeof value === "string" && plainAscii.test(value)) return value.length + 2;
  return Buffer.byteLength(JSON.stringify(value) ?? "");
}

/** The longest prefix that fits, cut between characters. */
export function truncateToBytes(text: string, bytes: number): string {
  if (jsonSize(text) <= bytes) return text;
  let end = Math.min(text.length, bytes);
  while (end > 0 && jsonSize(text.slice(0, end)) > bytes) end = Math.floor(end * 0.8);
  return text.slice(0, end).toWellFormed();
}
