import type { Alternative, StoredEvent } from "@holdfast/protocol";

import type { SessionRow } from "../ports/rows.ts";
import { showAlternative } from "./alternatives.ts";
import {
  cut,
  findCutPoint,
  type HistoryDeps,
  type HistoryResult,
  type HistoryTarget,
  noSession,
  refuseHistory,
  runOnce,
} from "./cut.ts";

/**
 * Takes back the last turn. If it is a version that replaced another, that one is shown again as it was left; otherwise
 * the turn is hidden, from its user message on. Several turns are hidden at once. The rows stay, and a redo brings them
 * back.
 */
export function undo(deps: HistoryDeps, target: HistoryTarget, turns = 1): Promise<HistoryResult> {
  return runOnce(deps, target, async () => {
    let remaining = turns;
    const isFirst = (entry: StoredEvent) => entry.type === "message.user" && (remaining -= 1) === 0;
    const point = await findCutPoint(deps.log, target, isFirst);
    if (point === null) return noSession;
    const { row, from } = point;
    if (from === null)
      return refuseHistory("nothing_to_undo", "There is no earlier message to go back to.");
    const previous = turns === 1 ? alternativeBefore(row, from) : undefined;
    return previous === undefined
      ? cut(deps, target, point, "undo", [])
      : showAlternative(deps, target, row, previous, "undo");
  });
}

function alternativeBefore(row: SessionRow, { seq }: StoredEvent): Alternative | undefined {
  for (const set of row.alternatives) {
    const index = set.findIndex((entry) => entry.seq === seq);
    if (index !== -1) return set[index - 1];
  }
  return undefined;
}
