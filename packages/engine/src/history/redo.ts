import {
  decodeEvent,
  type EventData,
  newEvent,
  type Seq,
  type StoredEvent,
} from "@holdfast/protocol";

import type { SessionRow } from "../ports/rows.ts";
import {
  type HistoryDeps,
  type HistoryResult,
  type HistoryTarget,
  refuseHistory,
  headMoved,
  noSession,
  runOnce,
  runLive,
} from "./cut.ts";

type Cut = EventData<"history.cut">;

/** Brings back what was cut last. Anything said after a cut ends the redo. */
export function redo(deps: HistoryDeps, target: HistoryTarget): Promise<HistoryResult> {
  return runOnce(deps, target, () => restoreLastCut(deps, target));
}

async function restoreLastCut(
  { log, ids }: HistoryDeps,
  target: HistoryTarget,
): Promise<HistoryResult> {
  const { owner, session, expectedHead, command = ids.make("event") } = target;
  const row = await log.store.reads.session(owner, session);
  if (row === null) return noSession;
  if (row.liveRun !== null) return runLive;
  // What was read above must still hold when it is written.
  if (expectedHead !== undefined && expectedHead !== row.head) return headMoved(row);
  const cutToRestore = await lastCut(log.store.reads, target, row);
  if (cutToRestore === null)
    return refuseHistory(
      "nothing_to_redo",
      "Nothing was taken out of view since the last message.",
    );
  const { ranges, messageCount, preview } = cutToRestore;
  const event = newEvent(command, "history.restored", { ranges, messageCount, preview });
  return log.commit({
    owner,
    session,
    events: [event],
    expect: { head: row.head, idle: true },
  });
}

const pageSize = 200;

/**
 * Cuts and redos form a stack at the end of the log: each redo uses up one cut. A message since then ends it, even one
 * still queued; a message that was withdrawn does not count.
 */
async function lastCut(
  reads: HistoryDeps["log"]["store"]["reads"],
  { owner, session }: HistoryTarget,
  row: SessionRow,
): Promise<NonNullable<Cut["before"]> | null> {
  let used = 0;
  const withdrawn = new Set<unknown>();
  for (let upTo: number = row.head; upTo > 0; upTo -= pageSize) {
    const after = Math.max(0, upTo - pageSize) as Seq;
    const page = await reads.events(owner, session, { after, upTo: upTo as Seq, limit: pageSize });
    for (const event of page?.events.toReversed() ?? []) {
      if (event.type === "input.removed") withdrawn.add(event.data["messageId"]);
      if (endsRedo(event, withdrawn)) return null;
      if (event.type === "history.restored") used += 1;
      const cut = cutOf(event);
      if (cut === null) continue;
      if (used === 0) return cut.before ?? null;
      used -= 1;
    }
  }
  return null;
}

function endsRedo({ type, data }: StoredEvent, withdrawn: ReadonlySet<unknown>): boolean {
  if (type === "input.accepted") return !withdrawn.has(data["messageId"]);
  return type.startsWith("message.") && type !== "message.delta";
}

function cutOf(event: StoredEvent): Cut | null {
  if (event.type !== "history.cut") return null;
  const decoded = decodeEvent(event);
  return decoded.kind === "known" && decoded.event.type === "history.cut"
    ? decoded.event.data
    : null;
}
