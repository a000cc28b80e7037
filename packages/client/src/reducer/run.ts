import {
  type EventData,
  type KnownEvent,
  terminalStates,
  type RunView,
  type RunId,
  emptyLiveView,
} from "@holdfast/protocol";
import type { SessionState } from "./reducer-state.ts";

/**
 * The run that is shown is the one that was claimed last. A queued run is shown by its item in the inbox,
 * and one that ends in the queue goes with it.
 */
export function foldRunState(
  state: SessionState,
  event: Extract<KnownEvent, { type: "run.state" }>,
): SessionState {
  const id = event.runId;
  if (id === undefined) return state;
  if (terminalStates.has(event.data.state)) return endRun(state, id, event.data, event.at);
  if (state.run?.id === id) return { ...state, run: changeRunState(state.run, event.data) };
  if (event.data.state === "queued") return state;
  const run = changeRunState(newRunView(state, id, event.at), event.data);
  return { ...state, run, live: emptyLiveView(id) };
}

export function markCancelRequested(
  state: SessionState,
  event: Extract<KnownEvent, { type: "run.cancel" }>,
): SessionState {
  if (state.run === null || state.run.id !== event.runId) return state;
  return { ...state, run: { ...state.run, cancelRequested: true } };
}

/** The run, its prompt and its live parts go together: no state shows one without the others. */
function endRun(
  state: SessionState,
  id: RunId,
  data: EventData<"run.state">,
  at: number,
): SessionState {
  const inbox = state.inbox.filter((item) => item.runId !== id);
  if (state.run?.id !== id) return { ...state, inbox };
  return { ...state, inbox, run: { ...changeRunState(state.run, data), endedAt: at }, live: null };
}

function newRunView(state: SessionState, id: RunId, at: number): RunView {
  return {
    id,
    sessionId: state.session.id,
    state: "queued",
    cause: null,
    attempt: 0,
    step: 0,
    cancelRequested: false,
    continues: null,
    startedAt: at,
    endedAt: null,
  };
}

/** A cause belongs to its state and goes with it. */
function changeRunState(run: RunView, data: EventData<"run.state">): RunView {
  return {
    ...run,
    state: data.state,
    cause: data.cause ?? null,
    attempt: data.attempt ?? run.attempt,
    continues: data.continues ?? run.continues,
  };
}
