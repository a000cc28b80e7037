import {
  type EventData,
  type NewEvent,
  newEvent,
  type NoticeId,
  type Part,
  type PendingRecovery,
} from "@holdfast/protocol";

import type { SpillReadResult } from "../ports/spill.ts";
import { eventsAfter } from "./find-spill.ts";
import { foldStep, type StreamedTool } from "../run/fold-step.ts";
import type { RunHandle } from "../run/run-handle.ts";
import { toolEndOf, asRecovered, settledTool, usageEvent } from "../run/settle.ts";

export interface LateTarget {
  /** `null`: they stand where they are written, above a notice of their own. */
  readonly above: NoticeId | null;
  readonly isReplaced: boolean;
  /** The run has ended: a call that was asked for and not begun will not be. */
  readonly isOver: boolean;
  readonly recovery: PendingRecovery | undefined;
}

type SpilledOutput = Extract<SpillReadResult, { status: "output" }>;

/** The entries that a late journal becomes: its message, what its tools did, what it cost. */
export function lateEntries(
  run: RunHandle,
  answer: SpilledOutput,
  place: LateTarget,
): readonly NewEvent[] {
  const { end, damage } = answer;
  const { recovery } = place;
  const known = recovery?.tools ?? [];
  const starts = known.map((tool) =>
    newEvent(run.ids.make("event"), "tool.started", { ...tool, replay: "never" }, run.runId),
  );
  const fold = foldStep([], [...starts, ...eventsAfter(answer.events, recovery?.upTo)]);
  const tools = [...fold.tools.values()];
  // The message that asked for the tools of the notice stands in the transcript already.
  const isKnown = ({ started }: StreamedTool) =>
    known.some(({ callId }) => callId === started.callId);
  const begun = tools.filter((tool) => !isKnown(tool)).map(({ started }) => started);
  const asked = (end?.calls ?? []).filter(
    ({ callId }) => !begun.some((one) => one.callId === callId),
  );
  const calls = asRecovered([
    ...begun.map(({ callId, name, input }) => ({ callId, name, input })),
    ...asked,
  ]);
  const parts = [
    ...(fold.message?.parts ?? []),
    ...calls.map((call): Part => ({ type: "tool_call", ...call })),
  ];
  const isWhole = end?.how === "done" && damage.length === 0;
  const marks = {
    ...(place.above !== null && { above: place.above }),
    ...(place.isReplaced && { superseded: true as const }),
  };
  const message: EventData<"message.assistant"> = {
    messageId: run.ids.make("message"),
    parts,
    ...(end !== null && { model: end.model }),
    ...(!isWhole && { partial: "interrupted" as const }),
    ...marks,
  };
  const ended = tools.filter((tool) => tool.ended !== null || !isKnown(tool)).map(toolEndOf);
  const unbegun = place.isOver ? asked : [];
  const results = [
    ...ended.map((each) => ({ ...each, resultId: run.ids.make("message") })),
    ...unbegun.map(({ callId, name }) => ({
      callId,
      name,
      resultId: run.ids.make("message"),
      outcome: "cancelled" as const,
      output: "It was not begun: the host had stopped.",
    })),
  ].map((each): NewEvent => {
    const settled = settledTool(run, { ...each, recovered: true }, []);
    return { ...settled, data: { ...settled.data, ...marks } };
  });
  const spoken = parts.length > 0 ? [run.event("message.assistant", message)] : [];
  return [...spoken, ...results, ...usageEvent(run, end?.model ?? "unknown", end?.usage ?? null)];
}
