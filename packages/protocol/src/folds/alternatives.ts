import type { EventData, KnownEvent } from "../events/registry.ts";
import type { Alternative, SeqRange } from "../events/session.ts";
import type { MessageId, Seq } from "../ids.ts";

/** The alternatives of one turn, oldest first. */
export type AlternativeSet = readonly Alternative[];

/** All of a session's alternatives after one more event: what replaced what, and where each of them was left. */
export function foldAlternatives(
  sets: readonly AlternativeSet[],
  event: KnownEvent,
): readonly AlternativeSet[] {
  switch (event.type) {
    case "history.cut": {
      const left = markLeft(sets, event.seq, event.data);
      const { replaces } = event.data;
      return replaces === undefined ? left : addAlternative(left, event.seq, replaces);
    }
    case "history.restored":
      return markLeft(sets, event.seq, event.data);
    case "message.user":
      return changeOne(sets, event.data.messageId, (entry) => [{ ...entry, seq: event.seq }]);
    case "input.removed": {
      const rest = changeOne(sets, event.data.messageId, () => []);
      return rest === sets ? sets : rest.filter((set) => set.length > 1);
    }
    default:
      return sets;
  }
}

/** The alternatives of a message, and its position among them. `null`: it is the only one. */
export function alternativesOf(
  sets: readonly AlternativeSet[],
  messageId: MessageId,
): { readonly set: AlternativeSet; readonly index: number } | null {
  for (const set of sets) {
    const index = set.findIndex((entry) => entry.messageId === messageId);
    if (index !== -1) return { set, index };
  }
  return null;
}

function addAlternative(
  sets: readonly AlternativeSet[],
  left: Seq,
  { messageId, seq, by }: NonNullable<EventData<"history.cut">["replaces"]>,
): readonly AlternativeSet[] {
  const added: Alternative = { messageId: by };
  const found = alternativesOf(sets, messageId);
  if (found === null) return [...sets, [{ messageId, seq, left }, added]];
  return sets.map((set) => (set === found.set ? [...set, added] : set));
}

/** Those that were in view and no longer are can be brought back as they were just before. */
function markLeft(
  sets: readonly AlternativeSet[],
  left: Seq,
  { ranges, before }: Pick<EventData<"history.cut">, "ranges" | "before">,
): readonly AlternativeSet[] {
  if (sets.length === 0 || before === undefined) return sets;
  return sets.map((set) =>
    set.map((entry) => {
      const wasLeft = isInRanges(before.ranges, entry.seq) && !isInRanges(ranges, entry.seq);
      return wasLeft ? { ...entry, left } : entry;
    }),
  );
}

function isInRanges(ranges: readonly SeqRange[], seq: Seq | undefined): boolean {
  return (
    seq !== undefined && ranges.some(({ from, to }) => seq >= from && (to === null || seq <= to))
  );
}

function changeOne(
  sets: readonly AlternativeSet[],
  messageId: MessageId,
  change: (entry: Alternative) => readonly Alternative[],
): readonly AlternativeSet[] {
  const found = alternativesOf(sets, messageId);
  if (found === null || found.set[found.index]?.seq !== undefined) return sets;
  const changed = found.set.flatMap((entry) =>
    entry.messageId === messageId ? change(entry) : [entry],
  );
  return sets.map((set) => (set === found.set ? changed : set));
}
