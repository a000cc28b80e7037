import type { InputRow, UsageRow, WorkQuery } from "@holdfast/engine";
import type { OwnerId, RunId, SessionId } from "@holdfast/protocol";

import type { ReferenceData } from "./data.ts";

/** Whether a row of the ledger belongs to the work that is asked about. */
export function workFilter(
  data: ReferenceData,
  owner: OwnerId,
  query: WorkQuery,
): (row: UsageRow) => boolean {
  const lanes = [...data.lanes.values()].filter((lane) => lane.owner === owner);
  const childrenOf = (id: string) =>
    lanes.filter(({ lane }) => lane.startsWith(`${query.childLanes}${id}:`));
  if ("session" in query) {
    const tree = new Set<SessionId>([query.session]);
    for (const id of tree) for (const { session } of childrenOf(id)) tree.add(session);
    return ({ session }) => tree.has(session);
  }
  const sessions = [...data.sessions.values()].filter(({ row }) => row.owner === owner);
  const inputs = sessions.flatMap((session) => [...session.inputs.values()]);
  const work = new Set<InputRow>(
    inputs.filter(({ clientId }) => clientId.startsWith(query.clientPrefix)),
  );
  for (const { runId, session } of work) {
    const runs = data.sessions.get(session)?.runs.values() ?? [];
    const next = new Set([...runs].flatMap((run) => (run.continues === runId ? run.id : [])));
    const calls = new Map(
      childrenOf(`${session}:${runId}`).map(({ lane, session: child }) => [
        child,
        lane.slice(`${query.childLanes}${session}:${runId}:`.length),
      ]),
    );
    for (const input of inputs)
      if (next.has(input.runId) || calls.get(input.session) === input.clientId) work.add(input);
  }
  const runs = new Set<RunId | null>([...work].map(({ runId }) => runId));
  const own = new Set(
    sessions.flatMap(({ row, inputs: all }) => {
      const [first] = [...all.values()].toSorted((a, b) => a.seq - b.seq);
      return first !== undefined && work.has(first) ? row.id : [];
    }),
  );
  return ({ runId, session }) => (runId === null ? own.has(session) : runs.has(runId));
}
