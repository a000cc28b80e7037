import type { Reads } from "@holdfast/engine";
import type { OwnerId, RunId, SessionId } from "@holdfast/protocol";

import { childOf, type GivenBy, lanesOf, parentOf } from "./child-session.ts";
import { givenBy } from "./given-by.ts";

interface OneRun {
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly runId: RunId;
}

/** More than a run may have. */
const mostChildren = 100;

/**
 * The runs that work for the same person's word: the one that a person has begun, its children, and theirs. All of it is read
 * from the store, so that it is the same in every process and after every crash.
 */
export async function familyOf(
  reads: Pick<Reads, "events" | "lanes">,
  run: OneRun,
): Promise<readonly RunId[]> {
  let eldest = run;
  for (;;) {
    const given = await givenTo(reads, eldest);
    if (given === null) return descendantsOf(reads, eldest);
    eldest = given;
  }
}

/** The call that a run was made by. What a person says in a child's session is a run of the person's own. */
async function givenTo(
  reads: Pick<Reads, "events">,
  { owner, session, runId }: OneRun,
): Promise<GivenBy | null> {
  const parent = await parentOf(reads, owner, session);
  if (parent === null) return null;
  const given = { owner, session: parent.sessionId, runId: parent.runId, callId: parent.callId };
  return childOf(given).runId === runId ? given : null;
}

async function descendantsOf(reads: Pick<Reads, "lanes">, run: OneRun): Promise<readonly RunId[]> {
  const lanes = await reads.lanes(run.owner, lanesOf(run), mostChildren);
  const children = lanes.flatMap(({ lane }) => givenBy(run.owner, lane) ?? []).map(childOf);
  const below = await Promise.all(children.map((child) => descendantsOf(reads, child)));
  return [run.runId, ...below.flat()];
}
