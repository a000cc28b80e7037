import {
  decodeEvent,
  type EventId,
  type NewEvent,
  type RunId,
  type SessionId,
  type SpillMark,
  type StoredEvent,
} from "@holdfast/protocol";

import type { SpillReadResult, SpillStore, SpillEnd, SpillRef } from "../ports/spill.ts";

/** What a run's last runner left outside the store. `ref` is `null` when it cannot have left anything. */
export interface FoundSpill {
  readonly ref: SpillRef | null;
  readonly answer: SpillReadResult;
  /** What the store does not have yet. */
  readonly events: readonly NewEvent[];
  readonly end: SpillEnd | null;
  /** The stream ended by itself and nothing of it is missing: its message is whole. */
  readonly isWhole: boolean;
  /** There is a message, in the store or here. */
  readonly hasMessage: boolean;
}

const noSpill: FoundSpill = {
  ref: null,
  answer: { status: "known_empty" },
  events: [],
  end: null,
  isWhole: false,
  hasMessage: false,
};

/** Looks where the runner of this journal said that it would write. */
export async function findSpill(
  journals: SpillStore | undefined,
  run: { readonly session: SessionId; readonly runId: RunId },
  journal: readonly StoredEvent[],
): Promise<FoundSpill> {
  const mark = lastSpillMark(journal);
  if (mark === null) return noSpill;
  const ref: SpillRef = { ...run, place: mark.place, fence: mark.fence };
  // Without a place of our own there is nowhere to look, and somebody else may have it.
  if (journals === undefined) return { ...noSpill, ref, answer: { status: "arriving" } };
  const answer = await journals.read(ref);
  if (answer.status !== "output") return { ...noSpill, ref, answer };
  const { end, damage } = answer;
  return {
    ref,
    answer,
    events: eventsAfter(answer.events, lastOutputId(journal)),
    end,
    isWhole: end?.how === "done" && damage.length === 0,
    hasMessage: [...journal, ...answer.events].some(({ type }) => type === "message.delta"),
  };
}

/** A commit whose answer was lost may stand: what the store has of a spill is its beginning, up to this event. */
export function eventsAfter(
  events: readonly NewEvent[],
  upTo: EventId | undefined,
): readonly NewEvent[] {
  return events.slice(events.findIndex((event) => event.id === upTo) + 1);
}

const outputTypes: ReadonlySet<string> = new Set(["message.delta", "tool.output", "tool.ended"]);

export function lastOutputId(journal: readonly StoredEvent[]): EventId | undefined {
  return journal.findLast((event) => outputTypes.has(event.type))?.id;
}

const markedTypes: ReadonlySet<string> = new Set(["step.started", "tool.started"]);

function lastSpillMark(journal: readonly StoredEvent[]): SpillMark | null {
  let spill: SpillMark | undefined;
  // A journal may be long, and nearly all of it is output: what cannot bear a mark is not looked into.
  journal.findLast((stored) => {
    if (!markedTypes.has(stored.type)) return false;
    const decoded = decodeEvent(stored);
    if (decoded.kind !== "known") return false;
    const { event } = decoded;
    if (event.type === "step.started" || event.type === "tool.started") ({ spill } = event.data);
    return spill !== undefined;
  });
  return spill ?? null;
}
