import type { EventData, NewEvent, Seq } from "@holdfast/protocol";

import type { Snapshot } from "../ports/reads.ts";
import type { FoundSpill } from "./find-spill.ts";
import { foldStep, type StepFold, type StreamedTool } from "../run/fold-step.ts";
import {
  toolEndOf,
  asRecovered,
  type PartialCause,
  type RunEvents,
  settledMessage,
  settledTool,
  type ToolEnd,
  usageEvent,
} from "../run/settle.ts";
import { truncateToBytes, sizeLimits } from "../run/sizes.ts";

/** What a run has left behind in its journal, as entries. */
export interface SettledJournal {
  readonly settled: readonly NewEvent[];
  /** Output that no entry stands for: a notice has to account for its numbers. */
  readonly dropped: readonly [Seq, Seq][];
  /** P7: what was started and not seen to end, in a sentence; empty when there is nothing of the kind. */
  readonly unknown: string;
  readonly unknownTools: readonly EventData<"tool.started">[];
}

export interface SettleJournalOptions {
  readonly partial: PartialCause;
  /** The run goes on: a tool that allows it begins anew, and what it had put out is dropped. */
  readonly mayStartAgain: boolean;
  /** What its runner had written down while the store was away. */
  readonly spill?: FoundSpill;
  /** The journal and the spill, where they were folded before. */
  readonly fold?: StepFold;
}

/** Entries for everything that the journal holds: no delta stays open, and no call that was begun stays untold. */
export function settleJournal(
  run: RunEvents,
  snapshot: Snapshot,
  { partial, mayStartAgain, spill, ...rest }: SettleJournalOptions,
): SettledJournal {
  const fold = rest.fold ?? foldStep(snapshot.journal, spill?.events);
  // A settlement ends a step's journal, so every tool in it is one whose result nobody has told yet.
  const begun = [...fold.tools.values()];
  // P7: in a run that ends here, nothing starts again that could tell how it went.
  const isKept = (tool: StreamedTool) =>
    tool.ended !== null || tool.started.replay === "never" || !mayStartAgain;
  const room = Math.floor(sizeLimits.leftovers / Math.max(1, begun.length));
  const kept = begun
    .filter(isKept)
    .map((tool) => settledTool(run, truncateOutput(toolEndOf(tool), room), tool.deltas));
  const end = spill?.end ?? null;
  const model = end?.model ?? modelOf(snapshot);
  const how = spill?.isWhole === true ? { calls: asRecovered(end?.calls ?? []) } : { partial };
  const message = settledMessage(run, fold.message, { model, ...how });
  const usages = usageEvent(run, model, end?.usage ?? null);
  const again = begun.filter((tool) => !isKept(tool)).flatMap((tool) => tool.deltas);
  const unknown = begun.filter((tool) => isKept(tool) && tool.ended === null);
  return {
    settled: [...message, ...kept, ...usages],
    dropped: [...again, ...fold.stray].map(([from, to]) => [from, to]),
    unknown: describeUnknown(unknown),
    unknownTools: unknown.map(({ started }) => started),
  };
}

/** All of it goes into one commit: what many tools had said at once is shared out rather than lost as a whole. */
function truncateOutput(end: ToolEnd, room: number): ToolEnd {
  const output = truncateToBytes(end.output, room);
  return output === end.output ? end : { ...end, output: `${output}\n[The rest is left out.]` };
}

function describeUnknown(tools: readonly StreamedTool[]): string {
  if (tools.length === 0) return "";
  const names = tools.map((tool) => tool.started.name).join(", ");
  return `It is not known whether this took effect: ${names}.`;
}

function modelOf(snapshot: Snapshot): string {
  const started = snapshot.journal.findLast((event) => event.type === "step.started");
  const model = started?.data["model"];
  return typeof model === "string" ? model : (snapshot.session.model ?? "unknown");
}
