import {
  type DecodedEvent,
  deltasSettledBy,
  foldSessionFacts as foldFacts,
  type KnownEvent,
  type StoredEvent,
} from "@holdfast/protocol";

import type { SessionRow } from "../ports/rows.ts";

/** The session's row after one more event: the facts that every reader knows, and what only the store keeps. */
export function foldSessionRow(row: SessionRow, decoded: DecodedEvent): SessionRow {
  const next = foldFacts(row, decoded);
  return decoded.kind === "known" ? { ...next, ...storeOnlyFields(decoded.event) } : next;
}

/** A delta changes nothing but the head, the activity and the count of what is still to be settled. */
export function foldDelta(row: SessionRow, event: StoredEvent): SessionRow {
  return {
    ...row,
    head: event.seq,
    activityAt: event.quiet ? row.activityAt : event.at,
    openDeltas: row.openDeltas + 1,
  };
}

function storeOnlyFields(event: KnownEvent): Partial<SessionRow> {
  switch (event.type) {
    case "history.cut":
    case "history.restored":
      return { ranges: event.data.ranges };
    default:
      return deltasSettledBy(event) === undefined ? {} : { openDeltas: 0 };
  }
}
