import type {
  EventData,
  Json,
  JsonObject,
  PendingRecovery,
  RecoveryKind,
  RunId,
  StoredEvent,
} from "@holdfast/protocol";

import type { SpillReadResult, SpillDamage } from "../ports/spill.ts";
import { type FoundSpill, lastOutputId } from "./find-spill.ts";
import type { SettledJournal } from "./settle-journal.ts";

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
