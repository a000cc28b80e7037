import {
  type CallId,
  type EventData,
  type KnownEvent,
  type RunId,
  terminalStates,
  textOf,
} from "@holdfast/protocol";

import type { FinalSession, FinalStore, SimProblem, SimRecord } from "./record.ts";

type Of<T extends KnownEvent["type"]> = Extract<KnownEvent, { type: T }>;

function eventsOfType<T extends KnownEvent["type"]>(
  log: readonly KnownEvent[],
  type: T,
): readonly Of<T>[] {
  return log.filter((event): event is Of<T> => event.type === type);
}

/** P1: an acknowledged input is there, was taken once and unchanged, and has one answer forever. */
export function* checkInputs(record: SimRecord, final: FinalStore): Generator<SimProblem> {
  const logs = new Map(final.sessions.map(({ id, log }) => [id, log]));
  const answers = new Map<string, string>();
  for (const { session, clientId, messageId, runId, seq } of record.acknowledged) {
    const answer = `${messageId} ${runId} ${seq}`;
    const earlier = answers.get(`${session} ${clientId}`) ?? answer;
    answers.set(`${session} ${clientId}`, answer);
    if (earlier !== answer)
      yield { promise: "P1", text: `${clientId} was answered ${earlier}, then ${answer}.` };
    const accepted = eventsOfType(logs.get(session) ?? [], "input.accepted").filter(
      ({ data }) => data.clientId === clientId,
    );
    const [only] = accepted;
    if (accepted.length !== 1 || only?.seq !== seq || only.data.messageId !== messageId)
      yield {
        promise: "P1",
        text: `${clientId} was acknowledged as ${answer}; the log accepted it ${accepted.length} times.`,
      };
  }
  for (const { log } of final.sessions)
    for (const accepted of eventsOfType(log, "input.accepted"))
      yield* checkTaken(log, accepted.data);
}

function* checkTaken(
  log: readonly KnownEvent[],
  { messageId, clientId, text }: EventData<"input.accepted">,
): Generator<SimProblem> {
  const [taken] = eventsOfType(log, "message.user").filter(
    ({ data }) => data.messageId === messageId,
  );
  const removed = eventsOfType(log, "input.removed").some(
    ({ data }) => data.messageId === messageId,
  );
  if (taken === undefined) return;
  if (removed) yield { promise: "P1", text: `${clientId} was removed and taken.` };
  const changed = eventsOfType(log, "input.changed").filter(
    ({ data, seq }) => data.messageId === messageId && seq < taken.seq,
  );
  const expected = changed.at(-1)?.data.text ?? text;
  if (textOf(taken.data.parts) !== expected)
    yield { promise: "P1", text: `${clientId} was taken in other words than it was accepted in.` };
}

/** P4 and P6: each run ends once, writes nothing afterwards, and doesn't complete after it was cancelled. */
export function* checkRuns(record: SimRecord, final: FinalStore): Generator<SimProblem> {
  for (const { id, log } of final.sessions) {
    const isInterrupted = record.interrupted.has(id);
    for (const [runId, events] of runsIn(log)) {
      yield* checkRunEnd(runId, events);
      if (!isInterrupted && !record.cancelAsked.has(runId)) yield* checkUnasked(runId, events);
    }
  }
  for (const { log } of final.sessions)
    for (const { runId, data } of eventsOfType(log, "notice.added"))
      if (data.kind === "not_kept")
        yield { promise: "bug", text: `${runId} was given up: ${JSON.stringify(data.details)}.` };
  const cancels = new Set(
    final.sessions.flatMap(({ log }) => eventsOfType(log, "run.cancel").map(({ runId }) => runId)),
  );
  const ended = new Set(
    final.sessions.flatMap(({ runs }) =>
      runs.filter(({ state }) => terminalStates.has(state)).map(({ id }) => id),
    ),
  );
  for (const runId of record.cancelled)
    if (!cancels.has(runId) && !ended.has(runId))
      yield { promise: "P6", text: `The cancel of ${runId} was acknowledged and is not there.` };
}

const endsIn = (events: readonly KnownEvent[]) =>
  eventsOfType(events, "run.state").filter(({ data }) => terminalStates.has(data.state));

function* checkRunEnd(runId: RunId, events: readonly KnownEvent[]): Generator<SimProblem> {
  const ends = endsIn(events);
  const [end] = ends;
  if (ends.length > 1)
    yield {
      promise: "P4",
      text: `${runId} ended ${ends.map(({ data }) => data.state).join(", ")}.`,
    };
  if (end === undefined) return;
  // A late journal is ingested quietly, after the end of its run.
  const late = events.filter(
    ({ seq, type, quiet }) => seq > end.seq && type !== "run.cancel" && quiet !== true,
  );
  for (const { type, seq } of late)
    yield { promise: "P4", text: `${runId} ended at ${end.seq}; ${type} stands at ${seq}.` };
  const cancels = eventsOfType(events, "run.cancel").filter(({ seq }) => seq < end.seq);
  if (cancels.length > 0 && end.data.state === "completed")
    yield { promise: "P6", text: `${runId} was cancelled and completed.` };
}

/** Leaving is not stopping: only a person's request ends a run like this. */
function* checkUnasked(runId: RunId, events: readonly KnownEvent[]): Generator<SimProblem> {
  const [end] = endsIn(events);
  if (end === undefined) return;
  const cancels = eventsOfType(events, "run.cancel").filter(({ seq }) => seq < end.seq);
  const { state, cause = "" } = end.data;
  const isWished = cancels.some(({ data }) => data.by !== undefined);
  if (state === "cancelled" && !isWished && cause !== "removed" && cause !== "trashed")
    yield { promise: "P6", text: `${runId} was cancelled, and nobody had asked for it.` };
}

function runsIn(log: readonly KnownEvent[]): ReadonlyMap<RunId, readonly KnownEvent[]> {
  const runs = new Map<RunId, KnownEvent[]>();
  for (const event of log) {
    if (event.runId === undefined) continue;
    const events = runs.get(event.runId);
    if (events === undefined) runs.set(event.runId, [event]);
    else events.push(event);
  }
  return runs;
}

/** P7: what a tool did was recorded before, was done once unless it may be replayed, and is reported as it was. */
export function* checkEffects(record: SimRecord, final: FinalStore): Generator<SimProblem> {
  const startedAt = new Map<CallId, number>();
  for (const { step, events } of record.commits)
    for (const { type, data } of events) {
      const callId = data["callId"] as CallId;
      if (type === "tool.started" && !startedAt.has(callId)) startedAt.set(callId, step);
    }
  const done = new Set<CallId>();
  for (const { callId, replay, step, host } of record.effects) {
    if ((startedAt.get(callId) ?? Infinity) > step)
      yield { promise: "P7", text: `${host} began ${callId}, which was not recorded before.` };
    if (replay === "never" && done.has(callId))
      yield { promise: "P7", text: `${host} did ${callId} again.` };
    done.add(callId);
  }
  yield* checkAllowed(record);
  for (const session of final.sessions) yield* checkResults(record, session);
}

/** A call that needs approval started only after a person approved it. */
function* checkAllowed({ commits, effects }: SimRecord): Generator<SimProblem> {
  const asked = new Map<unknown, CallId>();
  const allowedAt = new Map<CallId, number>();
  for (const { step, events } of commits)
    for (const { type, data } of events) {
      if (type === "approval.asked") asked.set(data["approvalId"], data["callId"] as CallId);
      if (type !== "approval.answered") continue;
      const callId = asked.get(data["approvalId"]);
      const isYes = data["decision"] !== "deny" && data["decision"] !== "expired";
      if (callId !== undefined && isYes) allowedAt.set(callId, step);
    }
  const asks = new Set(asked.values());
  for (const { callId, step, host } of effects)
    if (asks.has(callId) && (allowedAt.get(callId) ?? Infinity) > step)
      yield { promise: "P7", text: `${host} began ${callId}, which nobody had allowed.` };
}

function* checkResults(record: SimRecord, { log }: FinalSession): Generator<SimProblem> {
  const results = new Map<CallId, { outcome: string; seq: number }>();
  for (const { data, seq, quiet } of eventsOfType(log, "message.tool"))
    for (const part of data.parts) {
      // A late result stands beside the one reported before.
      if (part.type !== "tool_result" || quiet === true) continue;
      if (results.has(part.callId))
        yield { promise: "P7", text: `The result of ${part.callId} stands twice.` };
      results.set(part.callId, { outcome: part.outcome, seq });
    }
  const starts = eventsOfType(log, "tool.started");
  for (const { data } of starts) {
    const told = results.get(data.callId);
    if (told === undefined) continue;
    const ended = eventsOfType(log, "tool.ended").findLast(
      (end) => end.data.callId === data.callId,
    );
    const expected = ended?.data.outcome ?? spilledOutcome(record, data.callId) ?? "unknown";
    // A takeover in another home can't see that disk, and reports what it knows.
    const isElsewhere = ended === undefined && told.outcome === "unknown";
    if (told.outcome !== expected && !isElsewhere)
      yield {
        promise: "P7",
        text: `${data.callId} is told as ${told.outcome}: it is ${expected}.`,
      };
    const wasSeen = record.effects.some(
      ({ callId, outcome }) => callId === data.callId && outcome === "ok",
    );
    if (told.outcome === "ok" && !wasSeen)
      yield { promise: "P7", text: `${data.callId} is told as done, and was not.` };
  }
}

/** How a tool ended while the store was away: a takeover in the same home knows it from the disk only. */
function spilledOutcome({ spilled }: SimRecord, callId: CallId): string | undefined {
  const ended = spilled.find(
    ({ event }) => event.type === "tool.ended" && event.data["callId"] === callId,
  );
  const outcome = ended?.event.data["outcome"];
  return typeof outcome === "string" ? outcome : undefined;
}
