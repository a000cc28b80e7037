import {
  decodeEvent,
  type EventData,
  newEvent,
  type Seq,
  type StoredEvent,
} from "@holdfast/protocol";

import type { SessionRow } from "../ports/index.ts";
import {
  type HistoryDeps,
  type HistoryResult,
  type HistoryTarget,
  impossible,
  noSession,
} from "./cut.ts";

type Cut = EventData<"history.cut">;

/** Brings back what was cut last. Whatever is said after a cut ends the redo. */
export async function redo(
  { log, ids }: HistoryDeps,
  target: HistoryTarget,
): Promise<HistoryResult> {
  const { owner, session, expectedHead } = target;
  const row = await log.store.reads.session(owner, session);
  if (row === null) return noSession;
  const before = await lastCut(log.store.reads, target, row);
  if (before === null)
    return impossible("nothing_to_redo", "Nothing was taken out of view since the last message.");
  const { ranges, messageCount, preview } = before;
  const event = newEvent(ids.make("event"), "history.restored", { ranges, messageCount, preview });
  return log.commit({
    owner,
    session,
    events: [event],
    expect: { head: expectedHead ?? row.head, idle: true },
  });
}

const window = 200;

/** Cuts and redos are a stack at the end of the log: each redo has used up one cut. */
async function lastCut(
  reads: HistoryDeps["log"]["store"]["reads"],
  { owner, session }: HistoryTarget,
  row: SessionRow,
): Promise<NonNullable<Cut["before"]> | null> {
  let used = 0;
  for (let upTo: number = row.head; upTo > 0; upTo -= window) {
    const after = Math.max(0, upTo - window) as Seq;
    const page = await reads.events(owner, session, { after, upTo: upTo as Seq, limit: window });
    for (const event of page?.events.toReversed() ?? []) {
      if (endsRedo(event)) return null;
      if (event.type === "history.restored") used += 1;
      const cut = cutOf(event);
      if (cut === null) continue;
      if (used === 0) return cut.before ?? null;
      used -= 1;
    }
  }
  return null;
}

function endsRedo({ type }: StoredEvent): boolean {
  return type.startsWith("message.") && type !== "message.delta";
}

function cutOf(event: StoredEvent): Cut | null {
  if (event.type !== "history.cut") return null;
  const decoded = decodeEvent(event);
  return decoded.kind === "known" && decoded.event.type === "history.cut"
    ? decoded.event.data
    : null;
}
