import { decodeEvent, newEvent, type Seq, type StoredEvent } from "@holdfast/protocol";

import type { SessionRow } from "../ports/rows.ts";
import {
  type HistoryDeps,
  type HistoryResult,
  type HistoryTarget,
  commitView,
  refuseHistory,
  headMoved,
  noSession,
  runOnce,
  runLive,
  type View,
  viewOf,
} from "./cut.ts";

/** Brings back what was cut or undone last. Anything said after that, or another alternative, ends the redo. */
export function redo(deps: HistoryDeps, target: HistoryTarget): Promise<HistoryResult> {
  return runOnce(deps, target, () => restoreLastView(deps, target));
}

async function restoreLastView(deps: HistoryDeps, target: HistoryTarget): Promise<HistoryResult> {
  const { log, ids } = deps;
  const { owner, session, expectedHead, command = ids.make("event") } = target;
  const row = await log.store.reads.session(owner, session);
  if (row === null) return noSession;
  if (row.liveRun !== null) return runLive;
  if (expectedHead !== undefined && expectedHead !== row.head) return headMoved(row);
  const viewToRestore = await lastUndone(log.store.reads, target, row);
  if (viewToRestore === null)
    return refuseHistory(
      "nothing_to_redo",
      "Nothing was taken out of view since the last message.",
    );
  const { ranges, messageCount, preview } = viewToRestore;
  const restored = { ranges, messageCount, preview, before: viewOf(row) };
  return commitView(deps, target, row, [newEvent(command, "history.restored", restored)]);
}

const pageSize = 200;

/**
 * Cuts, undone edits and redos form a stack at the end of the log: each redo uses up one of the others. A message since
 * then ends it, even one still queued; a message that was withdrawn does not count.
 */
async function lastUndone(
  reads: HistoryDeps["log"]["store"]["reads"],
  { owner, session }: HistoryTarget,
  row: SessionRow,
): Promise<View | null> {
  let used = 0;
  const withdrawn = new Set<unknown>();
  for (let upTo: number = row.head; upTo > 0; upTo -= pageSize) {
    const after = Math.max(0, upTo - pageSize) as Seq;
    const page = await reads.events(owner, session, { after, upTo: upTo as Seq, limit: pageSize });
    for (const event of page?.events.toReversed() ?? []) {
      if (event.type === "input.removed") withdrawn.add(event.data["messageId"]);
      if (endsRedo(event, withdrawn)) return null;
      const change = viewChangeOf(event);
      if (change === null) continue;
      if (change.isRedo) used += 1;
      else if (used === 0) return change.before;
      else used -= 1;
    }
  }
  return null;
}

function endsRedo({ type, data }: StoredEvent, withdrawn: ReadonlySet<unknown>): boolean {
  if (type === "input.accepted") return !withdrawn.has(data["messageId"]);
  if (type === "history.restored") return data["cause"] === "switch";
  return type.startsWith("message.") && type !== "message.delta";
}

function viewChangeOf(
  event: StoredEvent,
): { readonly isRedo: boolean; readonly before: View | null } | null {
  if (!event.type.startsWith("history.")) return null;
  const decoded = decodeEvent(event);
  if (decoded.kind !== "known") return null;
  const known = decoded.event;
  if (known.type !== "history.cut" && known.type !== "history.restored") return null;
  const isRedo = known.type === "history.restored" && known.data.cause !== "undo";
  return { isRedo, before: known.data.before ?? null };
}
