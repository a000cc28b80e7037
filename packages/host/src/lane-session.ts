import { type Log, StoreFailure } from "@holdfast/engine";
import type { LaneKey, OwnerId, SessionId } from "@holdfast/protocol";

import { idsFrom } from "./keyed-ids.ts";

interface LaneDeps {
  readonly log: Log;
  readonly owner: OwnerId;
}

/** Whether what is answered there is brought to people; any other lane is a session's own. */
export function answersAreDelivered(lane: LaneKey): boolean {
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
export async function sessionFor(deps: LaneDeps, lane: LaneKey, key: string): Promise<SessionId> {
  const known = await sessionOfLane(deps, lane);
  if (known !== null) return known;
  const { log, owner } = deps;
  const ids = idsFrom(`lane ${lane} ${key}`);
  const { session, result } = await log.createSession({ owner, lane, ids });
  if (result.status === "failed") throw new StoreFailure(result.code, result.message);
  return session;
}
