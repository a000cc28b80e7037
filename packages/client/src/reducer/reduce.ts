import {
  decodeEvent,
  deltasSettledBy,
  type KnownEvent,
  type StoredEvent,
  entryOf,
  changeNotice,
  isLate,
  entriesInReadingOrder,
  visibleEntries,
  emptyLiveView,
  foldLiveView,
  foldSessionFacts,
  type EventData,
  terminalStates,
  type RunView,
  type RunId,
  type InboxItem,
} from "@holdfast/protocol";
import { removeFromGaps, addGap, liveRun, type SessionState } from "./state.ts";

/**
 * The only way from events to what a page shows. Pure and idempotent: an event that the state already includes changes
 * nothing, so a stream may be split, repeated or resumed anywhere.
 */
export function reduceEvent(state: SessionState, event: StoredEvent): SessionState {
  if (event.seq <= state.seq) return state;
  const decoded = decodeEvent(event);
  const next: SessionState = {
    ...state,
    seq: event.seq,
    gaps: addGap(state.gaps, state.seq, event.seq),
    session: foldSessionFacts(state.session, decoded),
  };
  // An event from a newer host, or one that does not decode, keeps its seq and shows nothing.
  return rereadIfGapsRemain(
    next,
    decoded.kind === "known" ? applyEvent(next, decoded.event) : next,
  );
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
      return event.data.origin === undefined ? state : requestReread(state);
    case "input.accepted":
    case "input.changed":
    case "input.removed":
      return { ...state, inbox: foldInbox(state.inbox, event) };
    case "run.state":
      return foldRunState(state, event);
    case "run.cancel":
      return markCancelRequested(state, event);
    case "step.started":
      return startStep(state, event);
    case "message.user":
    case "message.assistant":
    case "message.tool":
      return settleMessage(state, event);
    case "notice.added":
    case "context.compacted":
    case "context.epoch":
      return addEntry(withGapsExplained(state, event), event);
    case "notice.changed":
      return { ...state, entries: changeNotice(state.entries, event) };
    case "history.cut":
      return cutHistory(state, event);
    case "history.restored":
      return requestReread(cutHistory(state, event));
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
    case "chain.began":
    case "lane.bound":
    case "approval.revoked":
    case "context.framed":
    case "usage.recorded":
    case "run.released":
    case "memory.marked":
    case "memory.tried":
    case "memory.failed":
    case "memory.committed":
    case "outbox.changed":
      return state;
  }
}

/** Seqs that are missing because an entry names them. */
function withGapsExplained(state: SessionState, event: KnownEvent): SessionState {
  const deltas = deltasSettledBy(event);
  return deltas === undefined ? state : { ...state, gaps: removeFromGaps(state.gaps, deltas) };
}

function addEntry(state: SessionState, event: KnownEvent): SessionState {
  const entry = entryOf(event);
  if (entry === null) return state;
  const entries = [...state.entries, entry];
  return { ...state, entries: isLate(entry) ? entriesInReadingOrder(entries) : entries };
}

/** The entry replaces its live part in one step: nothing is shown twice, or not at all. */
function settleMessage(
  state: SessionState,
  event: Extract<KnownEvent, { type: "message.user" | "message.assistant" | "message.tool" }>,
): SessionState {
  const added = addEntry(state, event);
  if (event.type === "message.user") {
    const inbox = added.inbox.filter((item) => item.messageId !== event.data.messageId);
    return { ...added, inbox };
  }
  return changeLive(withGapsExplained(added, event), event);
}

function cutHistory(
  state: SessionState,
  event: Extract<KnownEvent, { type: "history.cut" | "history.restored" }>,
): SessionState {
  return { ...state, entries: visibleEntries(state.entries, event.data.ranges) };
}

function requestReread(state: SessionState): SessionState {
  return { ...state, readAgain: state.readAgain ?? "history_returned" };
}

/** The same step starts again when a run continues after waiting; what it has shown stays (P5). */
function startStep(
  state: SessionState,
  event: Extract<KnownEvent, { type: "step.started" }>,
): SessionState {
  const run = liveRun(state);
  if (run === null || event.runId !== run.id || run.step === event.data.step) return state;
  return { ...state, run: { ...run, step: event.data.step }, live: emptyLiveView(run.id) };
}

/** Only the live run has a journal to show. */
function changeLive(state: SessionState, event: KnownEvent): SessionState {
  const run = liveRun(state);
  if (run === null || event.runId !== run.id) return state;
  return { ...state, live: foldLiveView(state.live ?? emptyLiveView(run.id), event) };
}

/**
 * Pruned deltas are named by a settled message of their own step. An unexplained gap is therefore lost once its step is
 * over, or at once if no live run could have written deltas.
 */
function rereadIfGapsRemain(before: SessionState, after: SessionState): SessionState {
  if (after.gaps.length === 0 || after.readAgain !== null) return after;
  const continuesStep = liveRun(after) !== null && stepOf(before) === stepOf(after);
  return continuesStep ? after : { ...after, readAgain: "events_lost" };
}

function stepOf(state: SessionState): string {
  return `${state.run?.id ?? ""} ${state.run?.step ?? 0}`;
}

/**
 * The run shown is the one claimed last. A queued run is shown by its inbox item, and goes with it if it ends in the
 * queue.
 */
function foldRunState(
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

function markCancelRequested(
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

function foldInbox(
  inbox: readonly InboxItem[],
  event: Extract<KnownEvent, { type: `input.${string}` }>,
): readonly InboxItem[] {
  switch (event.type) {
    case "input.accepted": {
      const { hash: _, attachments = [], ...visible } = event.data;
      return [...inbox, { ...visible, attachments, seq: event.seq, acceptedAt: event.at }];
    }
    case "input.changed":
      return inbox.map((item) =>
        item.messageId === event.data.messageId ? replaceContent(item, event.data) : item,
      );
    case "input.removed":
      return inbox.filter((item) => item.messageId !== event.data.messageId);
  }
}

/** The new content replaces everything: without attachments it has none. */
function replaceContent(item: InboxItem, data: EventData<"input.changed">): InboxItem {
  return { ...item, text: data.text, attachments: data.attachments ?? [] };
}
