import {
  decodeEvent,
  deltasSettledBy,
  type KnownEvent,
  type StoredEvent,
  entryOf,
  rewordNotice,
  isLate,
  viewsInPlace,
  visibleIn,
  emptyLive,
  foldLive,
  foldSession,
} from "@holdfast/protocol";
import { explainGaps, openGap } from "./state.ts";
import { changeInbox } from "./inbox.ts";
import { changeRun, requestCancel } from "./run.ts";
import { liveRun, type SessionState } from "./reducer-state.ts";

/**
 * The one way from events to what a page shows. Pure and idempotent: an event that the state holds already
 * changes nothing, so a stream may be split, repeated or resumed anywhere.
 */
export function reduceEvent(state: SessionState, event: StoredEvent): SessionState {
  if (event.seq <= state.seq) return state;
  const decoded = decodeEvent(event);
  const next: SessionState = {
    ...state,
    seq: event.seq,
    gaps: openGap(state.gaps, state.seq, event.seq),
    session: foldSession(state.session, decoded),
  };
  // What a newer host wrote, or what does not decode, holds its number and shows nothing.
  return decideGaps(next, decoded.kind === "known" ? applyEvent(next, decoded.event) : next);
}

export function reduceEvents(state: SessionState, events: Iterable<StoredEvent>): SessionState {
  let next = state;
  for (const event of events) next = reduceEvent(next, event);
  return next;
}

function applyEvent(state: SessionState, event: KnownEvent): SessionState {
  switch (event.type) {
    case "session.created":
      // A branch shows entries of another log, which no event of this one carries.
      return event.data.origin === undefined ? state : historyReturned(state);
    case "input.accepted":
    case "input.changed":
    case "input.removed":
      return { ...state, inbox: changeInbox(state.inbox, event) };
    case "run.state":
      return changeRun(state, event);
    case "run.cancel":
      return requestCancel(state, event);
    case "step.started":
      return startStep(state, event);
    case "message.user":
    case "message.assistant":
    case "message.tool":
      return settleMessage(state, event);
    case "notice.added":
    case "context.compacted":
    case "context.epoch":
      return addEntry(explained(state, event), event);
    case "notice.changed":
      return { ...state, entries: rewordNotice(state.entries, event) };
    case "history.cut":
      return cutHistory(state, event);
    case "history.restored":
      return historyReturned(cutHistory(state, event));
    case "message.delta":
    case "tool.started":
    case "tool.output":
    case "tool.ended":
    case "approval.asked":
    case "approval.answered":
      return changeLive(state, event);
    case "session.changed":
    case "session.trashed":
    case "session.restored":
    case "lane.bound":
    case "context.framed":
    case "usage.recorded":
    case "memory.marked":
    case "memory.tried":
    case "memory.failed":
    case "memory.committed":
    case "outbox.changed":
      return state;
  }
}

/** Numbers that are missing because an entry stands for them. */
function explained(state: SessionState, event: KnownEvent): SessionState {
  const deltas = deltasSettledBy(event);
  return deltas === undefined ? state : { ...state, gaps: explainGaps(state.gaps, deltas) };
}

function addEntry(state: SessionState, event: KnownEvent): SessionState {
  const entry = entryOf(event);
  if (entry === null) return state;
  const entries = [...state.entries, entry];
  return { ...state, entries: isLate(entry) ? viewsInPlace(entries) : entries };
}

/** The entry comes and what stood for it goes in one step: nothing is shown twice, or not at all. */
function settleMessage(
  state: SessionState,
  event: Extract<KnownEvent, { type: "message.user" | "message.assistant" | "message.tool" }>,
): SessionState {
  const added = addEntry(state, event);
  if (event.type === "message.user") {
    const inbox = added.inbox.filter((item) => item.messageId !== event.data.messageId);
    return { ...added, inbox };
  }
  return changeLive(explained(added, event), event);
}

function cutHistory(
  state: SessionState,
  event: Extract<KnownEvent, { type: "history.cut" | "history.restored" }>,
): SessionState {
  return { ...state, entries: visibleIn(state.entries, event.data.ranges) };
}

function historyReturned(state: SessionState): SessionState {
  return { ...state, readAgain: state.readAgain ?? "history_returned" };
}

/** The same step begins again when a run goes on after waiting; what it has shown stays (P5). */
function startStep(
  state: SessionState,
  event: Extract<KnownEvent, { type: "step.started" }>,
): SessionState {
  const run = liveRun(state);
  if (run === null || event.runId !== run.id || run.step === event.data.step) return state;
  return { ...state, run: { ...run, step: event.data.step }, live: emptyLive(run.id) };
}

/** Only the run that is going on has a journal to show. */
function changeLive(state: SessionState, event: KnownEvent): SessionState {
  const run = liveRun(state);
  if (run === null || event.runId !== run.id) return state;
  return { ...state, live: foldLive(state.live ?? emptyLive(run.id), event) };
}

/**
 * Pruned deltas stand in a settled message of their own step. So a gap that nothing explained is lost once
 * its step is over, and at once where no run is going on that could have written deltas.
 */
function decideGaps(before: SessionState, after: SessionState): SessionState {
  if (after.gaps.length === 0 || after.readAgain !== null) return after;
  const stepGoesOn = liveRun(after) !== null && stepOf(before) === stepOf(after);
  return stepGoesOn ? after : { ...after, readAgain: "events_lost" };
}

function stepOf(state: SessionState): string {
  return `${state.run?.id ?? ""} ${state.run?.step ?? 0}`;
}
