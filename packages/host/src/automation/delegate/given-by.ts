import { callId, type LaneKey, type OwnerId, runId, sessionId } from "@holdfast/protocol";

import { everyChild, type GivenBy } from "./child-session.ts";

/** The call that the lane of a child names. */
export function givenBy(owner: OwnerId, lane: LaneKey): GivenBy | null {
  const [session, run, call] = lane.slice(everyChild.length).split(":");
  const [of, by, named] = [
    sessionId.safeParse(session),
    runId.safeParse(run),
    callId.safeParse(call),
  ];
  if (!of.success || !by.success || !named.success) return null;
  return { owner, session: of.data, runId: by.data, callId: named.data };
}
