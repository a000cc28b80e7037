import type { Reads } from "@holdfast/engine";
import type { OwnerId, RunId, SessionId } from "@holdfast/protocol";

import { childOf, type ParentCall, childLanePrefixOf, parentOf } from "./child-session.ts";
import { parentCallFromLane } from "./given-by.ts";

interface RunRef {
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly runId: RunId;
}

/** More than a run may have. */
const maxChildren = 100;

/**
 * The runs that work for the same person's word: the one that a person has begun, its children, and theirs. All of it is read
 * from the store, so that it is the same in every process and after every crash.
 */
export async function delegationTree(
  reads: Pick<Reads, "events" | "lanes">,
  run: RunRef,
): Promise<readonly RunId[]> {
  let eldest = run;
  for (;;) {
    const given = await parentCallOf(reads, eldest);
    if (given === null) return descendantsOf(reads, eldest);
    eldest = given;
  }
}

/** The call that a run was made by. What a person says in a child's session is a run of the person's own. */
async function parentCallOf(
  reads: Pick<Reads, "events">,
  { owner, session, runId }: RunRef,
): Promise<ParentCall | null> {
  const parent = await parentOf(reads, owner, session);
  if (parent === null) return null;
  const given = { owner, session: parent.sessionId, runId: parent.runId, callId: parent.callId };
  return childOf(given).runId === runId ? given : null;
}

async function descendantsOf(reads: Pick<Reads, "lanes">, run: RunRef): Promise<readonly RunId[]> {
  const lanes = await reads.lanes(run.owner, childLanePrefixOf(run), maxChildren);
  const children = lanes
    .flatMap(({ lane }) => parentCallFromLane(run.owner, lane) ?? [])
    .map(childOf);
  const below = await Promise.all(children.map((child) => descendantsOf(reads, child)));
  return [run.runId, ...below.flat()];
}
