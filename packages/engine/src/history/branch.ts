import { defaultMode, narrowestMode, newEvent, type Seq, type SessionId } from "@holdfast/protocol";

import { newestFirst } from "../log/read-views.ts";
import type { Failed, Refused } from "../ports/commit.ts";
import type { SessionRow } from "../ports/rows.ts";
import {
  type HistoryDeps,
  type HistoryTarget,
  refuseHistory,
  type HistoryRefusal,
  headMoved,
  noSession,
  branchRanges,
  isMessage,
  textOfEntry,
} from "./cut.ts";

export type BranchResult =
  | { readonly status: "branched"; readonly session: SessionId }
  | Refused
  | Failed
  | HistoryRefusal;

export interface BranchOptions {
  /** The last entry the branch keeps; by default the newest. */
  readonly at?: Seq | undefined;
  readonly title?: string | undefined;
  /** The branch's own id. If it exists already, the same command created it earlier. */
  readonly session?: SessionId | undefined;
}

/**
 * P8: a session of its own that continues from a point of another. Nothing is copied: entries below its start are read
 * from the origin's log, and its seqs continue from there. The origin is unchanged, so its live run continues
 * undisturbed.
 */
export async function branch(
  { log, ids }: HistoryDeps,
  target: HistoryTarget,
  { at, title, session = ids.make("session") }: BranchOptions = {},
): Promise<BranchResult> {
  const { owner, session: origin, expectedHead } = target;
  if ((await log.store.reads.session(owner, session)) !== null)
    return { status: "branched", session };
  const found = await findBranchPoint(log, target, at);
  if (found === null) return noSession;
  const { row, point } = found;
  const hasMoved = expectedHead !== undefined && expectedHead !== row.head;
  if (hasMoved || point === "moving") return headMoved(row);
  if (point === null)
    return refuseHistory(
      "entry_not_found",
      "This entry is not in the conversation as it is shown now.",
    );
  // What runs without asking in one session was not allowed in another.
  const mode = row.mode === null ? null : narrowestMode(row.mode, defaultMode);
  const created = newEvent(ids.make("event"), "session.created", {
    origin: { sessionId: origin, seq: point.seq },
    ranges: branchRanges(row.ranges, origin, point.seq),
    messageCount: point.messageCount,
    preview: point.preview,
    ...((title ?? row.title) !== null && { title: title ?? row.title ?? "" }),
    titleSource: title === undefined ? (row.titleSource ?? "derived") : "chosen",
    model: row.model,
    workspace: row.workspace,
    project: row.project,
    tags: [...row.tags],
    persona: row.persona,
    ...(mode !== null && { mode }),
  });
  const result = await log.commit({ owner, session, events: [created] });
  return result.status === "committed" ? { status: "branched", session } : result;
}

/** A branch at the end, with a title that tells the two apart. */
export async function duplicate(
  deps: HistoryDeps,
  target: HistoryTarget,
  { title, session }: Omit<BranchOptions, "at"> = {},
): Promise<BranchResult> {
  const row = await deps.log.store.reads.session(target.owner, target.session);
  if (row === null) return noSession;
  const branchTitle = title ?? (row.title === null ? undefined : titleOfCopy(row.title));
  return branch(deps, target, { title: branchTitle, session });
}

const maxTitleLength = 300;

function titleOfCopy(title: string): string {
  const suffix = " (copy)";
  return `${title.slice(0, maxTitleLength - suffix.length)}${suffix}`;
}

interface BranchPoint {
  readonly seq: Seq;
  /** What the list shows for the part up to here. */
  readonly messageCount: number;
  readonly preview: string;
}

const maxTries = 20;

/**
 * The row and the entries are read one after the other. The version, which every entry and every cut moves, proves that
 * they belong together.
 */
async function findBranchPoint(
  log: HistoryDeps["log"],
  { owner, session }: HistoryTarget,
  at: Seq | undefined,
): Promise<{ readonly row: SessionRow; readonly point: BranchPoint | "moving" | null } | null> {
  const { reads } = log.store;
  for (let attempt = 1; ; attempt += 1) {
    const row = await reads.session(owner, session);
    if (row === null) return null;
    const point = await walkTo(log, row, at);
    const after = await reads.session(owner, session);
    if (after?.version === row.version) return { row, point };
    if (attempt === maxTries) return { row, point: "moving" };
  }
}

async function walkTo(
  log: HistoryDeps["log"],
  row: SessionRow,
  at: Seq | undefined,
): Promise<BranchPoint | null> {
  let messageCount = row.messageCount;
  let seq: Seq | null = at === undefined ? row.head : null;
  for await (const entry of newestFirst(log.store.reads, row.owner, row.id)) {
    if (entry.seq === at) seq = at;
    if (seq !== null && isMessage(entry)) return { seq, messageCount, preview: textOfEntry(entry) };
    if (isMessage(entry)) messageCount -= 1;
    // Entries come in the order of their seqs: the requested one is not among them.
    if (seq === null && at !== undefined && entry.seq < at) return null;
  }
  return seq === null ? null : { seq, messageCount: 0, preview: "" };
}
