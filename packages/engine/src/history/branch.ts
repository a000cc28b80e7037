import { newEvent, type Seq, type SessionId } from "@holdfast/protocol";

import type { Failed, Refused } from "../ports/index.ts";
import {
  type HistoryDeps,
  type HistoryTarget,
  impossible,
  type Impossible,
  noSession,
} from "./cut.ts";
import { branchRanges, isVisible } from "./ranges.ts";
import { isMessage, newestFirst, textOfEntry } from "./visible.ts";

export type BranchResult =
  | { readonly status: "branched"; readonly session: SessionId }
  | Refused
  | Failed
  | Impossible;

/**
 * P8: a session of its own that goes on from a point of another. It copies nothing: what stands below its beginning is
 * read from the log that it left, and its numbers go on from there.
 */
export async function branch(
  { log, ids }: HistoryDeps,
  target: HistoryTarget,
  { at, title }: { readonly at?: Seq | undefined; readonly title?: string | undefined } = {},
): Promise<BranchResult> {
  const { owner, session: origin } = target;
  const row = await log.store.reads.session(owner, origin);
  if (row === null) return noSession;
  const last = at ?? row.head;
  if (at !== undefined && !isVisible(row.ranges, at))
    return impossible("entry_not_found", "There is no such entry in view.");
  const session = ids.make("session");
  const created = newEvent(ids.make("event"), "session.created", {
    origin: { sessionId: origin, seq: last },
    ranges: branchRanges(row.ranges, origin, last),
    ...(await whatStays(log, target, row.messageCount, last)),
    ...((title ?? row.title) !== null && { title: title ?? row.title ?? "" }),
    titleSource: title === undefined ? (row.titleSource ?? "derived") : "chosen",
    model: row.model,
    workspace: row.workspace,
    project: row.project,
    tags: [...row.tags],
  });
  const result = await log.commit({ owner, session, events: [created] });
  return result.status === "committed" ? { status: "branched", session } : result;
}

/** What the list says of the part up to `last`. */
async function whatStays(
  log: HistoryDeps["log"],
  { owner, session }: HistoryTarget,
  messageCount: number,
  last: Seq,
): Promise<{ messageCount: number; preview: string }> {
  let left = messageCount;
  for await (const entry of newestFirst(log, owner, session)) {
    if (!isMessage(entry)) continue;
    if (entry.seq <= last) return { messageCount: left, preview: textOfEntry(entry) };
    left -= 1;
  }
  return { messageCount: 0, preview: "" };
}
