import type { EntryView, Seq } from "@holdfast/protocol";

/** What came late stands above the notice that announced it: its number says nothing of its place. */
export function isLate(entry: EntryView): boolean {
  return entry.type === "message" && entry.above !== undefined;
}

export function firstOrderedSeq(entries: readonly EntryView[]): Seq | null {
  return entries.find((entry) => !isLate(entry))?.seq ?? null;
}

export function lastOrderedSeq(entries: readonly EntryView[]): Seq | null {
  return entries.findLast((entry) => !isLate(entry))?.seq ?? null;
}
