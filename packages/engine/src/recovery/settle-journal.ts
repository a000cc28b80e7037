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
import { type FoundSpill, lastOutputId } from "./spill.ts";
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
import type { SpillReadResult, SpillDamage } from "../ports/spill.ts";

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

/** A sealed journal without output is looked at so often, in case it is a copy that is still under way. */
export const maxRecoveryTries = 12;
export const maxRecoveryWaitMs = 24 * 60 * 60_000;

const recoveryTexts: Record<RecoveryKind, string> = {
  recovering:
    "The host stopped in the middle of this answer. What it wrote down elsewhere is being looked for.",
  recovered:
    "The host stopped in the middle of this answer. What it had said and done until then is above.",
  nothing_recovered:
    "The host stopped in the middle of this answer. Nothing more of it was recovered.",
};

const supersededText =
  " It was found after the run had gone on without it, and the model is not told.";

export interface NoticeContent {
  readonly kind: RecoveryKind;
  readonly text: string;
  readonly details: JsonObject;
}

/** One notice, three wordings. While it is undecided it carries what the next one who looks has to know. */
export function recoveryNotice(
  kind: RecoveryKind,
  runId: RunId,
  rest: {
    readonly pending?: PendingRecovery | undefined;
    /** A sentence. */
    readonly unknown?: string;
    readonly damage?: readonly SpillDamage[];
    readonly superseded?: boolean;
  } = {},
): NoticeContent {
  const { pending, unknown = "", damage = [] } = rest;
  const warning = unknown === "" ? "" : ` ${unknown}`;
  const lost =
    damage.length === 0
      ? ""
      : ` Parts of its file could not be read (${damage.length}); they are missing.`;
  const late = rest.superseded === true ? supersededText : "";
  return {
    kind,
    text: `${recoveryTexts[kind]}${lost}${late}${warning}`,
    details: {
      cause: "host_stopped",
      runId,
      ...(damage.length > 0 && { damage: damage.slice(0, 20).map(damageJson) }),
      ...(pending !== undefined && { recovery: pending as JsonObject }),
    },
  };
}

function damageJson({ kind, offset }: SpillDamage): Json {
  return { kind, offset };
}

export function damageIn(answer: SpillReadResult): readonly SpillDamage[] {
  return answer.status === "output" || answer.status === "sealed" ? answer.damage : [];
}

export interface TakeOverFacts {
  readonly spill: FoundSpill;
  readonly firstSeen: number;
  readonly goesOn: boolean;
  readonly ends: boolean;
}

/** The notice of a take-over. `null` where nothing is left and nothing is missed: the run simply goes on. */
export function takeOverNotice(
  runId: RunId,
  journal: readonly StoredEvent[],
  left: SettledJournal,
  { spill, firstSeen, goesOn }: TakeOverFacts,
): NoticeContent | null {
  const { ref, answer } = spill;
  const rest = { unknown: left.unknown, damage: damageIn(answer) };
  if (ref === null || answer.status === "known_empty" || answer.status === "output") {
    const hasLeft = left.settled.length > 0 || left.dropped.length > 0;
    if (hasLeft) return recoveryNotice("recovered", runId, rest);
    return ref === null || goesOn ? null : recoveryNotice("nothing_recovered", runId);
  }
  const upTo = lastOutputId(journal);
  const pending: PendingRecovery = {
    spill: { place: ref.place, fence: ref.fence },
    tries: answer.status === "sealed" ? 1 : 0,
    firstSeen,
    ...(upTo !== undefined && { upTo }),
    ...(goesOn && { resumed: true }),
    ...(left.unknownTools.length > 0 && { tools: left.unknownTools.map(pendingToolOf) }),
  };
  return recoveryNotice("recovering", runId, { ...rest, pending });
}

function pendingToolOf({ callId, resultId, name, input }: EventData<"tool.started">) {
  return { callId, resultId, name, input };
}
