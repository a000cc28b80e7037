import { type EventData, type KnownEvent, type RunId, terminalStates } from "@holdfast/protocol";
import { startState } from "@holdfast/client";

import type { Store } from "@holdfast/engine";
import type { FinalSession, FinalStore, SimProblem, SimRecord } from "./record.ts";
import { type SimReader, readAsHost } from "./reader.ts";
import type { SimWorld } from "./world.ts";

/** When faults have stopped and everything is idle, nothing may be left over. */
export function* checkSettled(record: SimRecord, final: FinalStore): Generator<SimProblem> {
  yield* checkSpills(record, final);
  for (const session of final.sessions) {
    for (const { id, state } of session.runs)
      if (!terminalStates.has(state)) yield { promise: "P4", text: `${id} is ${state} for ever.` };
    for (const { clientId, state } of session.inputs)
      if (state === "queued") yield { promise: "P1", text: `${clientId} waits for ever.` };
    yield* checkStartedTools(session);
  }
}

/**
 * P7: every started tool call is reported. Only a replayable call in a run that was taken over may be left to be
 * repeated.
 */
function* checkStartedTools({ log }: FinalSession): Generator<SimProblem> {
  const told = new Set<string>();
  const takenOver = new Set<RunId | undefined>();
  for (const event of log) {
    if (event.type === "message.tool") for (const callId of callsIn(event)) told.add(callId);
    if (event.type === "run.state" && isTakeOver(event.data)) takenOver.add(event.runId);
  }
  for (const { type, data, runId } of log) {
    if (type !== "tool.started" || told.has(data.callId)) continue;
    if (data.replay === "never" || !takenOver.has(runId))
      yield { promise: "P7", text: `${data.callId} was begun, and its outcome is not told.` };
  }
}

function isTakeOver({ state, attempt = 0 }: EventData<"run.state">): boolean {
  return attempt > 0 && !terminalStates.has(state);
}

function callsIn({ data }: Extract<KnownEvent, { type: "message.tool" }>): readonly string[] {
  return data.parts.flatMap((part) => (part.type === "tool_result" ? [part.callId] : []));
}

/** P5: what a host's disk kept while the store was away is in the conversation, one way or another. */
function* checkSpills({ spilled }: SimRecord, final: FinalStore): Generator<SimProblem> {
  if (spilled.length === 0) return;
  const told = new Map(final.sessions.map(({ id, log }) => [id, JSON.stringify(log)]));
  for (const { session, event } of spilled) {
    const text = event.type === "message.delta" ? event.data["text"] : "";
    if (typeof text === "string" && told.get(session)?.includes(text) === false)
      yield { promise: "spill", text: `${session}: "${text}" was spilled and never brought back.` };
  }
}

/** P5: what a reader has folded equals a fresh read. */
export async function* checkReader(
  world: SimWorld,
  store: Store,
  { name, session, state }: SimReader,
): AsyncGenerator<SimProblem> {
  const read = await readAsHost(store.reads, world.owner, session);
  if (read === null || state === null) return;
  const fresh = startState(read);
  // A read names the last run only while an entry of it is visible, so runs are compared while they are live.
  for (const part of ["seq", "entries", "inbox", "session", "live"] as const) {
    const [folded, stored] = [canonicalJson(state[part]), canonicalJson(fresh[part])];
    if (folded !== stored)
      yield { promise: "P5", text: `${name} shows ${part} ${folded}; it is ${stored}.` };
  }
}

/** JSON with sorted fields. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) =>
    item !== null && typeof item === "object" && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
}
