import type {
  EventData,
  NewEvent,
  Seq,
  Json,
  JsonObject,
  PendingRecovery,
  RecoveryKind,
  RunId,
  StoredEvent,
} from "@holdfast/protocol";
import type { Snapshot } from "../ports/reads.ts";
import { type FoundSpill, lastOutputId, losesRecord } from "./spill.ts";
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
  truncateToBytes,
  sizeLimits,
} from "../run/settle.ts";
import type { SpillDamage } from "../ports/spill.ts";

/** The entries made from what a run left in its journal. */
export interface SettledJournal {
  readonly settled: readonly NewEvent[];
  /** Output without an entry: a notice has to account for its seqs. */
  readonly dropped: readonly [Seq, Seq][];
  /** P7: one sentence about tools that started and have no recorded end; empty if there are none. */
  readonly unknown: string;
  readonly unknownTools: readonly EventData<"tool.started">[];
}

export interface SettleJournalOptions {
  readonly partial: PartialCause;
  /** The run continues: a tool that allows it starts again, and its earlier output is dropped. */
  readonly mayStartAgain: boolean;
  /** What its runner spilled while the store was away. */
  readonly spill?: FoundSpill;
  /** Journal and spill, if already folded. */
  readonly fold?: StepFold;
}

/** Entries for everything in the journal: no delta stays open, and every call that started gets a result. */
export function settleJournal(
  run: RunEvents,
  snapshot: Snapshot,
  { partial, mayStartAgain, spill, ...rest }: SettleJournalOptions,
): SettledJournal {
  const fold = rest.fold ?? foldStep(snapshot.journal, spill?.events);
  // A settlement ends a step's journal, so no tool in it has a result yet.
  const startedTools = [...fold.tools.values()];
  // P7: if the run ends here, no later start can reveal how a tool went.
  const isSettled = (tool: StreamedTool) =>
    tool.ended !== null || tool.started.replay === "never" || !mayStartAgain;
  const maxBytes = Math.floor(sizeLimits.leftovers / Math.max(1, startedTools.length));
  const settledEnds = startedTools
    .filter(isSettled)
    .map((tool) => settledTool(run, truncateOutput(toolEndOf(tool), maxBytes), tool.deltas));
  const end = spill?.end ?? null;
  const model = end?.model ?? modelOf(snapshot);
  const ending = spill?.isWhole === true ? { calls: asRecovered(end?.calls ?? []) } : { partial };
  const message = settledMessage(run, fold.message, { model, ...ending });
  const usages = usageEvent(run, model, end?.usage ?? null);
  const restarted = startedTools.filter((tool) => !isSettled(tool)).flatMap((tool) => tool.deltas);
  const unknown = startedTools.filter((tool) => isSettled(tool) && tool.ended === null);
  return {
    settled: [...message, ...settledEnds, ...usages],
    dropped: [...restarted, ...fold.stray].map(([from, to]) => [from, to]),
    unknown: describeUnknown(unknown),
    unknownTools: unknown.map(({ started }) => started),
  };
}

/** Everything goes into one commit: the output of many tools is cut to fit rather than lost as a whole. */
function truncateOutput(end: ToolEnd, maxBytes: number): ToolEnd {
  const output = truncateToBytes(end.output, maxBytes);
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

/** How often a sealed journal without output is checked, in case it is a copy still being written. */
export const maxRecoveryTries = 12;
export const maxRecoveryWaitMs = 24 * 60 * 60_000;
/** A host that restarts is back well within this time. */
export const awayAfterMs = 15 * 60_000;

const recoveryTexts: Record<RecoveryKind, string> = {
  recovering:
    "The host stopped in the middle of this answer. What it wrote down elsewhere is being looked for.",
  host_away:
    "The host stopped in the middle of this answer and has not come back. If it does, any output it still has is added here.",
  recovered:
    "The host stopped in the middle of this answer. What it had said and done until then is above.",
  nothing_recovered:
    "The host stopped in the middle of this answer. Nothing more of it was recovered.",
};

const stoppedWaitingText =
  "The host stopped in the middle of this answer. The rest is no longer expected; if it still arrives, it is added here.";

const supersededText =
  " It was found after the run had gone on without it, and the model is not told.";

export interface NoticeContent {
  readonly kind: RecoveryKind;
  readonly text: string;
  readonly details: JsonObject;
}

/** One notice with several wordings. While undecided it carries what the next check needs to know. */
export function recoveryNotice(
  kind: RecoveryKind,
  runId: RunId,
  rest: {
    readonly pending?: PendingRecovery | undefined;
    /** One sentence. */
    readonly unknown?: string;
    readonly damage?: readonly SpillDamage[];
    readonly superseded?: boolean;
    /** A person did not want to wait any longer. */
    readonly stoppedWaiting?: true;
  } = {},
): NoticeContent {
  const { pending, unknown = "", damage = [] } = rest;
  const warning = unknown === "" ? "" : ` ${unknown}`;
  const losses = damage.filter(losesRecord).length;
  const lost =
    losses === 0 ? "" : ` Parts of its file could not be read (${losses}); they are missing.`;
  const supersededNote = rest.superseded === true ? supersededText : "";
  const text = rest.stoppedWaiting ? stoppedWaitingText : recoveryTexts[kind];
  return {
    kind,
    text: `${text}${lost}${supersededNote}${warning}`,
    details: {
      cause: "host_stopped",
      runId,
      ...(rest.stoppedWaiting && { stoppedWaiting: true }),
      ...(damage.length > 0 && { damage: damage.slice(0, 20).map(damageJson) }),
      ...(pending !== undefined && { recovery: pending as JsonObject }),
    },
  };
}

function damageJson({ kind, offset }: SpillDamage): Json {
  return { kind, offset };
}

export function damageIn(answer: {
  readonly status: string;
  readonly damage?: readonly SpillDamage[];
}): readonly SpillDamage[] {
  return answer.damage ?? [];
}

export interface TakeOverFacts {
  readonly spill: FoundSpill;
  readonly firstSeen: number;
  readonly continues: boolean;
  readonly ends: boolean;
}

/** The notice of a take-over. `null` if nothing was left and nothing is missing: the run simply continues. */
export function takeOverNotice(
  runId: RunId,
  journal: readonly StoredEvent[],
  leftover: SettledJournal,
  { spill, firstSeen, continues }: TakeOverFacts,
): NoticeContent | null {
  const { ref, answer } = spill;
  const rest = { unknown: leftover.unknown, damage: damageIn(answer) };
  if (ref === null || answer.status === "known_empty" || answer.status === "output") {
    const hasLeftovers = leftover.settled.length > 0 || leftover.dropped.length > 0;
    if (hasLeftovers) return recoveryNotice("recovered", runId, rest);
    return ref === null || continues ? null : recoveryNotice("nothing_recovered", runId);
  }
  const upTo = lastOutputId(journal);
  const pending: PendingRecovery = {
    spill: { place: ref.place, fence: ref.fence },
    tries: answer.status === "sealed" ? 1 : 0,
    firstSeen,
    ...(upTo !== undefined && { upTo }),
    ...(continues && { resumed: true }),
    ...(leftover.unknownTools.length > 0 && { tools: leftover.unknownTools.map(pendingToolOf) }),
  };
  return recoveryNotice("recovering", runId, { ...rest, pending });
}

function pendingToolOf({ callId, resultId, name, input }: EventData<"tool.started">) {
  return { callId, resultId, name, input };
}
