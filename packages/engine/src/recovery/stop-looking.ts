import {
  newEvent,
  type NoticeId,
  type OwnerId,
  type SessionId,
  type StoredEvent,
} from "@holdfast/protocol";

import {
  newestFirst,
  pendingNotices,
  readNoticeUpdates,
  withAmendments,
} from "../log/read-views.ts";
import type { Refused } from "../ports/commit.ts";
import type { Reads } from "../ports/reads.ts";
import { StoreFailure } from "../ports/store.ts";
import type { ClaimDeps } from "../run/claim.ts";
import { groupByDecider } from "./late-journal.ts";
import { maxRecoveryWaitMs, recoveryNotice } from "./settle-journal.ts";

export type StopLookingDeps = Pick<ClaimDeps, "log" | "ids">;

/**
 * Settles notices that wait for a journal, because a person does not want to wait any longer: one of them, or all that
 * the session shows. A file that turns up later is still ingested. Returns how many it settled.
 */
export async function stopLooking(
  deps: StopLookingDeps,
  owner: OwnerId,
  session: SessionId,
  noticeId?: NoticeId,
): Promise<number | Refused> {
  const { store } = deps.log;
  const row = await store.reads.session(owner, session);
  if (row === null) return 0;
  const recent = await recentNotices(store.reads, owner, session, await store.now());
  const entries = await withAmendments(store.reads, row, recent, "earlier");
  const chosen = entries.filter(
    ({ data }) => noticeId === undefined || data["noticeId"] === noticeId,
  );
  let settled = 0;
  for (const [decider, notices] of await groupByDecider(deps, owner, session, chosen, "at once"))
    for (const notice of pendingNotices(notices)) {
      const result = await settle(deps, owner, decider, notice, notices);
      if (typeof result !== "string") return result;
      if (result === "settled") settled += 1;
    }
  return settled;
}

type Pending = ReturnType<typeof pendingNotices>[number];

/** Without the lease, which a run may hold for long: the head shows whether anybody decided it meanwhile. */
async function settle(
  { log, ids }: StopLookingDeps,
  owner: OwnerId,
  session: SessionId,
  { noticeId, seq, runId }: Pending,
  seen: readonly StoredEvent[],
): Promise<"settled" | "decided" | Refused> {
  for (;;) {
    const updates = await readNoticeUpdates(log.store.reads, owner, session, {
      noticeId,
      seq,
      runId,
    });
    const pending = pendingNotices([...seen, ...(updates?.amendments ?? [])]);
    if (updates === null || !pending.some((notice) => notice.noticeId === noticeId))
      return "decided";
    const wording = recoveryNotice("nothing_recovered", runId, { stoppedWaiting: true });
    const events = [newEvent(ids.make("event"), "notice.changed", { noticeId, ...wording })];
    const expect = { head: updates.head };
    const result = await log.commit({ owner, session, events, expect, touch: "quiet" });
    if (result.status === "committed") return "settled";
    if (result.status === "failed") throw new StoreFailure(result.code, result.message);
    if (result.code !== "head_moved") return result;
  }
}

/** Clocks step back, so a few entries that are too old prove nothing about those before them. */
const maxOlderEntries = 100;

/** After a day no notice waits any more, so that older ones need not be read. */
async function recentNotices(
  reads: Reads,
  owner: OwnerId,
  session: SessionId,
  now: number,
): Promise<readonly StoredEvent[]> {
  const found: StoredEvent[] = [];
  let older = 0;
  for await (const entry of newestFirst(reads, owner, session)) {
    older = entry.at < now - maxRecoveryWaitMs ? older + 1 : 0;
    if (older > maxOlderEntries) break;
    if (entry.type.startsWith("notice.")) found.unshift(entry);
  }
  return found;
}
