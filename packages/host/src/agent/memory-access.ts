import type { Store } from "@holdfast/engine";
import {
  laneKey,
  type OwnerId,
  rights as rightsSchema,
  type Seq,
  type SessionId,
} from "@holdfast/protocol";

import { parentOf } from "../automation/delegate/child-session.ts";
import type { RightsResolver } from "../rights/resolve-rights.ts";

/**
 * Whether a session's prompt may begin with the owner's notes: not if the lane that it was made for has no access to
 * memory. That lane reads the prompt's effects, whoever began this run. A child also needs what its parent has, and the
 * rights that came with its task.
 */
export async function mayReadMemory(
  { reads }: Pick<Store, "reads">,
  rights: Pick<RightsResolver, "ofLane">,
  { owner, session }: { readonly owner: OwnerId; readonly session: SessionId },
): Promise<boolean> {
  const page = await reads.events(owner, session, { after: 0 as Seq, limit: maxFirstEvents });
  const events = page?.events ?? [];
  const lanes = events.flatMap(({ type, data }) =>
    type === "lane.bound" ? (laneKey.safeParse(data["lane"]).data ?? []) : [],
  );
  const all = await Promise.all(lanes.map((lane) => rights.ofLane(owner, lane)));
  if (!all.every(({ memory }) => memory !== "none")) return false;
  const parent = await parentOf(reads, owner, session);
  if (parent === null) return true;
  const task = events.find(({ type }) => type === "input.accepted")?.data["rights"];
  if (task !== undefined && (rightsSchema.safeParse(task).data?.memory ?? "none") === "none")
    return false;
  return mayReadMemory({ reads }, rights, { owner, session: parent.sessionId });
}

/** `lane.bound` is among the first events of a session that a lane created. */
const maxFirstEvents = 16;
