import { callId, type LaneKey, type OwnerId, runId, sessionId } from "@holdfast/protocol";

import { childLanePrefix, type ParentCall } from "./child-session.ts";

/** The call that the lane of a child names. */
export function parentCallFromLane(owner: OwnerId, lane: LaneKey): ParentCall | null {
  const [session, run, call] = lane.slice(childLanePrefix.length).split(":");
  const [of, by, named] = [
    sessionId.safeParse(session),
    runId.safeParse(run),
    callId.safeParse(call),
  ];
  if (!of.success || !by.success || !named.success) return null;
  return { owner, session: of.data, runId: by.data, callId: named.data };
}
