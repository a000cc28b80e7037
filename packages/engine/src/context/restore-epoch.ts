import {
  decodeEvent,
  type IdSource,
  newEvent,
  type Seq,
  type OwnerId,
  type SessionId,
} from "@holdfast/protocol";

import { type Log } from "../log/log.ts";
import { newestFirst } from "../log/read-views.ts";
import type { CommitResult, Committed, Refused } from "../ports/commit.ts";
import type { SessionRow } from "../ports/rows.ts";
import { readContext } from "./session-context.ts";

export interface EpochTarget {
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly expectedHead?: Seq | undefined;
}

export type EpochResult =
  | CommitResult
  | { readonly status: "refused"; readonly code: "epoch_not_found"; readonly message: string };

/**
 * Makes the context start as in an earlier epoch; 0 is the whole conversation. Later epochs stay and can be restored
 * too.
 */
export async function restoreEpoch(
  { log, ids }: { readonly log: Log; readonly ids: IdSource },
  { owner, session, expectedHead }: EpochTarget,
  number: number,
): Promise<EpochResult> {
  const row = await log.store.reads.session(owner, session);
  if (row === null) return noSession;
  const at = number === 0 ? null : await epochSeq(log, owner, session, number);
  if (at === undefined)
    return {
      status: "refused",
      code: "epoch_not_found",
      message: "There is no such epoch in view.",
    };
  const current = await readContext(log.store.reads, owner, session);
  // It already starts that way: nothing is appended, but the answer is the same.
  if (current !== null && (current.epoch?.seq ?? null) === at) return unchanged(row);
  const event = newEvent(ids.make("event"), "context.epoch", {
    epoch: row.epoch + 1,
    restores: number,
    ...(at !== null && { at }),
  });
  const expect = { head: expectedHead ?? row.head, epoch: row.epoch, idle: true } as const;
  return log.commit({ owner, session, events: [event], expect });
}

/**
 * The position of that epoch's summary; `null` if it is the whole conversation, `undefined` if there is no such epoch.
 */
async function epochSeq(
  log: Log,
  owner: OwnerId,
  session: SessionId,
  number: number,
): Promise<Seq | null | undefined> {
  for await (const entry of newestFirst(log.store.reads, owner, session)) {
    if (entry.type !== "context.compacted" && entry.type !== "context.epoch") continue;
    const decoded = decodeEvent(entry);
    if (decoded.kind !== "known") continue;
    const { event } = decoded;
    if (event.type === "context.compacted" && event.data.epoch === number) return event.seq;
    if (event.type === "context.epoch" && event.data.epoch === number) return event.data.at ?? null;
  }
  return undefined;
}

function unchanged({ head, version, revision, activityAt }: SessionRow): Committed {
  return {
    status: "committed",
    first: head,
    last: head,
    at: activityAt,
    version,
    revision,
    repeated: true,
  };
}

const noSession: Refused = {
  status: "refused",
  code: "session_not_found",
  message: "There is no such session.",
};
