import type { KnownEvent, SeqRange } from "@holdfast/protocol";

/** What was in view before an event that changed that. */
export function viewBefore(event: KnownEvent | undefined): readonly SeqRange[] | undefined {
  if (event?.type !== "history.cut" && event?.type !== "history.restored") return undefined;
  return event.data.before?.ranges;
}
