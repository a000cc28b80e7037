import {
  pendingNotices,
  type Reads,
  type RunRow,
  type Snapshot,
  withAmendments,
  viewSession,
} from "@holdfast/engine";
import {
  entriesOf,
  foldLiveJournal,
  eventsInReadingOrder,
  type OwnerId,
  type Seq,
  type SessionId,
  type SessionRead,
} from "@holdfast/protocol";

import { hasChildTag, parentOf } from "../../automation/delegate/child-session.ts";
import type { ApiDeps } from "./deps.ts";
import { viewInput, viewRun } from "./views.ts";

export interface PageQuery {
  readonly before?: Seq | undefined;
  readonly limit?: number | undefined;
}

const defaultEntryLimit = 100;

/** Everything a page shows of a session, from one snapshot, by the reducer's own functions (P5). */
export async function readSessionPage(
  { log, runner }: Pick<ApiDeps, "log" | "runner">,
  owner: OwnerId,
  id: SessionId,
  { limit = defaultEntryLimit, before }: PageQuery,
): Promise<SessionRead | null> {
  const { reads } = log.store;
  const query = { limit, ...(before !== undefined && { before }) };
  const page = before === undefined ? "newest" : "earlier";
  let snapshot = await reads.snapshot(owner, id, query);
  if (snapshot === null) return null;
  let visible = snapshot.entries.entries;
  if (pendingNotices(visible).length > 0) {
    visible = await withAmendments(reads, snapshot.session, visible, page);
    // What a notice still waits for may have turned up: then this read has brought it in, and shows it.
    if ((await runner.recoverLateJournals(owner, id, visible)) === "changed") {
      snapshot = (await reads.snapshot(owner, id, query)) ?? snapshot;
      visible = await withAmendments(reads, snapshot.session, snapshot.entries.entries, page);
    }
  }
  const { session, entries, inbox, journal } = snapshot;
  const parent = hasChildTag(session) ? await parentOf(reads, owner, id) : null;
  const run = snapshot.run ?? (await lastRun(reads, owner, snapshot));
  const first = entries.entries[0];
  return {
    session: { ...viewSession(session), ...(parent !== null && { parent }) },
    entries: [...entriesOf(visible)],
    run: run && viewRun(run),
    inbox: inbox.map(viewInput),
    seq: session.head,
    live: snapshot.run && foldLiveJournal(snapshot.run.id, journal),
    earlier: entries.more && first !== undefined ? first.seq : null,
  };
}

/**
 * How the last run ended. The snapshot holds only one that is live, but in it the newest entry of a run names a run that
 * has ended, and an ended run never changes: reading it afterwards is as good as reading it in the snapshot.
 */
async function lastRun(
  reads: Reads,
  owner: OwnerId,
  { entries }: Snapshot,
): Promise<RunRow | null> {
  const newest = eventsInReadingOrder(entries.entries).findLast(
    (event) => event.runId !== undefined,
  );
  return newest?.runId === undefined ? null : reads.run(owner, newest.runId);
}
