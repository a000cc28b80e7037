import { type Log, StoreFailure } from "@holdfast/engine";
import { type LaneKey, type OwnerId, seq, type SessionId } from "@holdfast/protocol";

import { deterministicIds } from "../util/deterministic-ids.ts";

const firstSeq = seq.parse(0);

interface LaneDeps {
  readonly log: Log;
  readonly owner: OwnerId;
}

/** Whether answers in this lane are delivered to a chat or webhook; other lanes have no recipient. */
export function isDeliveredLane(lane: LaneKey): boolean {
  return /^(?:telegram|webhook):/.test(lane);
}

/** The session a lane points at, unless it is in the trash. */
export async function sessionOfLane(
  { log, owner }: LaneDeps,
  lane: LaneKey,
): Promise<SessionId | null> {
  const { reads } = log.store;
  const session = await reads.lane(owner, lane);
  const row = session && (await reads.session(owner, session));
  return row === null || row.trashedAt !== null ? null : row.id;
}

/**
 * Derives the session's id from the message, so two hosts that see the same message create the same session. P11:
 * throws when the store fails, so that no message is confirmed without a session.
 */
export async function sessionForLane(
  deps: LaneDeps,
  lane: LaneKey,
  key: string,
): Promise<SessionId> {
  const existing = await sessionOfLane(deps, lane);
  if (existing !== null) return existing;
  const { log, owner } = deps;
  const ids = deterministicIds(`lane ${lane} ${key}`);
  const { session, result } = await log.createSession({ owner, lane, ids });
  if (result.status === "failed") throw new StoreFailure(result.code, result.message);
  return session;
}

/** `lane.bound` is among the first events of a session that the lane created or branched. */
const maxFirstEvents = 16;

/**
 * Whether a session belongs to a lane: the lane points at it, or created it. A session that the lane was only
 * switched to does not belong to it, nor does a branch that somebody else made.
 */
export async function ownsSession(
  { log, owner }: LaneDeps,
  lane: LaneKey,
  session: SessionId,
): Promise<boolean> {
  const { reads } = log.store;
  if ((await reads.lane(owner, lane)) === session) return true;
  const page = await reads.events(owner, session, { after: firstSeq, limit: maxFirstEvents });
  return (page?.events ?? []).some(
    ({ type, data }) => type === "lane.bound" && data["lane"] === lane,
  );
}
