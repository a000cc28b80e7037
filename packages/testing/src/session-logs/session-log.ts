import type * as fc from "fast-check";
import {
  decodeEvent,
  type StoredEvent,
  type EntryView,
  type SessionRead,
  ownerId,
  entriesOf,
} from "@holdfast/protocol";
import { emptySessionRead, reduceEvents, type SessionState, startState } from "@holdfast/client";
import { testId, writeLog } from "./write-log.ts";
import { sessionScript } from "./script.ts";

export const emptyState: SessionState = startState(
  emptySessionRead(testId("session", 1), ownerId.parse("me")),
);

/** What a host answers: entries straight from the log and its ranges, everything else from the fold. */
export function hostReadOf(log: readonly StoredEvent[]): SessionRead {
  const { gaps: _, readAgain: __, inbox, ...state } = reduceEvents(emptyState, log);
  return { ...state, inbox: [...inbox], entries: visibleEntries(log) };
}

function visibleEntries(log: readonly StoredEvent[]): EntryView[] {
  let ranges: readonly { from: number; to: number | null }[] = [{ from: 1, to: null }];
  for (const stored of log) {
    const decoded = decodeEvent(stored);
    if (decoded.kind !== "known") continue;
    const { event } = decoded;
    if (event.type === "history.cut" || event.type === "history.restored")
      ({ ranges } = event.data);
  }
  return entriesOf(log).filter(({ seq }) =>
    ranges.some(({ from, to }) => seq >= from && (to === null || seq <= to)),
  );
}

export { testId } from "./write-log.ts";

export const sessionLog: fc.Arbitrary<StoredEvent[]> = sessionScript.map(writeLog);
