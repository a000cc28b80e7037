import type { CallId, NewEvent, OwnerId, Seq, SessionId, StoredEvent } from "@holdfast/protocol";

import { pendingCalls } from "../context/messages.ts";
import type { ModelCall } from "../ports/model.ts";
import type { Reads } from "../ports/reads.ts";
import { type RunEvents, type ToolEnd, unrunResults } from "./settle.ts";
import { callRefusals } from "./approvals.ts";

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
