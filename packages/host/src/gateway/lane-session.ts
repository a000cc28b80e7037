import { type Log, StoreFailure } from "@holdfast/engine";
import { type LaneKey, type OwnerId, seq, type SessionId } from "@holdfast/protocol";

import { deterministicIds } from "../util/deterministic-ids.ts";

const zero = seq.parse(0);

interface LaneDeps {
  readonly log: Log;
  readonly owner: OwnerId;
}

/** Whether what is answered there is brought to people; any other lane is a session's own. */
export function isDeliveredLane(lane: LaneKey): boolean {
  return /^(?:telegram|webhook):/.test(lane);
}

/** The session that a lane points at; one that is in the trash is not talked to any more. */
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
 * Made from what asks for it: two who see the same message make the same session. P11: where the store cannot take it, that is
 * thrown, so that nobody takes what came for something that has no session.
 */
export async function sessionForLane(
  deps: LaneDeps,
  lane: LaneKey,
  key: string,
): Promise<SessionId> {
  const known = await sessionOfLane(deps, lane);
  if (known !== null) return known;
  const { log, owner } = deps;
  const ids = deterministicIds(`lane ${lane} ${key}`);
  const { session, result } = await log.createSession({ owner, lane, ids });
  if (result.status === "failed") throw new StoreFailure(result.code, result.message);
  return session;
}

/** A lane is bound among the first things of a session that it has begun, and of a branch that it has made. */
const firstFew = 16;

/**
 * Whether a session is a lane's own: the one that it is in, or one that it has begun. One that it was only led to is not, nor is
 * a branch that somebody else has made of one.
 */
export async function ownsSession(
  { log, owner }: LaneDeps,
  lane: LaneKey,
  session: SessionId,
): Promise<boolean> {
  const { reads } = log.store;
  if ((await reads.lane(owner, lane)) === session) return true;
  const page = await reads.events(owner, session, { after: zero, limit: firstFew });
  return (page?.events ?? []).some(
    ({ type, data }) => type === "lane.bound" && data["lane"] === lane,
  );
}
