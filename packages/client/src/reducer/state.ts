import {
  type Seq,
  type EntryView,
  type InboxItem,
  type LiveView,
  type RunView,
  type SessionRead,
  type SessionView,
  type OwnerId,
  type SessionId,
  terminalStates,
  isLate,
} from "@holdfast/protocol";

/** Skipped seqs, both inclusive. */
export type Gap = readonly [from: Seq, to: Seq];

/** The seqs between the last event and the next, if the next does not follow directly. */
export function addGap(gaps: readonly Gap[], last: Seq, next: Seq): readonly Gap[] {
  return next > last + 1 ? [...gaps, [(last + 1) as Seq, (next - 1) as Seq]] : gaps;
}

/** Removes the seqs that a settled message names. */
export function removeFromGaps(
  gaps: readonly Gap[],
  ranges: readonly (readonly [Seq, Seq])[],
): readonly Gap[] {
  let remaining = gaps;
  for (const [from, to] of ranges) {
    if (remaining.length === 0) return remaining;
    remaining = remaining.flatMap((gap) => gapWithout(gap, from, to));
  }
  return remaining;
}

function gapWithout(gap: Gap, from: Seq, to: Seq): Gap[] {
  const [first, last] = gap;
  if (to < first || from > last) return [gap];
  const rest: Gap[] = [];
  if (first < from) rest.push([first, (from - 1) as Seq]);
  if (last > to) rest.push([(to + 1) as Seq, last]);
  return rest;
}

/**
 * Why the state cannot continue by events alone:
 * - `events_lost`: seqs are missing, and no settled message names them.
 * - `history_returned`: entries became visible again that this reader may not have.
 */
export type RereadReason = "events_lost" | "history_returned";

/** What a page shows of a session: a read, brought up to date by events. Plain JSON. */
export interface SessionState {
  readonly session: SessionView;
  readonly entries: readonly EntryView[];
  readonly run: RunView | null;
  readonly inbox: readonly InboxItem[];
  /** The state includes every event up to here. */
  readonly seq: Seq;
  readonly live: LiveView | null;
  readonly earlier: Seq | null;
  /** Skipped seqs that are not accounted for yet. */
  readonly gaps: readonly Gap[];
  /** Stays set until the next read. The state can still be shown meanwhile. */
  readonly readAgain: RereadReason | null;
}

export function startState(read: SessionRead): SessionState {
  const { session, entries, run, inbox, seq, live, earlier } = read;
  return { session, entries, run, inbox, seq, live, earlier, gaps: [], readAgain: null };
}

/** A session before its first event, for a reader that follows from seq 0. */
export function emptySessionRead(id: SessionId, owner: OwnerId): SessionRead {
  const session: SessionView = {
    id,
    owner,
    title: null,
    titleSource: null,
    model: null,
    workspace: null,
    pinned: false,
    archived: false,
    project: null,
    tags: [],
    mode: null,
    persona: null,
    alternatives: [],
    version: 0,
    revision: 0,
    head: 0 as Seq,
    epoch: 0,
    createdAt: 0,
    activityAt: 0,
    sortAt: 0,
    trashedAt: null,
    preview: "",
    messageCount: 0,
    liveRun: null,
    liveState: null,
    lastState: null,
  };
  return { session, entries: [], run: null, inbox: [], seq: 0 as Seq, live: null, earlier: null };
}

/** The run that was claimed and has not ended. */
export function liveRun(state: SessionState): RunView | null {
  return state.run !== null && !terminalStates.has(state.run.state) ? state.run : null;
}

/** Whether the run waits for a person: at rest, or within a call whose tool has asked something. */
export function waitsForPerson(state: SessionState): boolean {
  const run = liveRun(state);
  if (run === null) return false;
  return run.state === "waiting" || state.live?.approvals.some(({ inCall }) => inCall) === true;
}

/** Puts a page of earlier entries, from a read with `before`, above those already held. */
export function prependEntries(
  state: SessionState,
  page: { readonly entries: readonly EntryView[]; readonly earlier: Seq | null },
): SessionState {
  const first = state.entries.find((entry) => !isLate(entry))?.seq ?? Infinity;
  const held = new Set(state.entries.map(({ seq }) => seq));
  const added = page.entries.filter(
    (entry) => (isLate(entry) || entry.seq < first) && !held.has(entry.seq),
  );
  return { ...state, entries: [...added, ...state.entries], earlier: page.earlier };
}

const maxFollowerEntries = 600;
/** Drops many at once: dropping one at a time would copy the list for every event. */
const keptFollowerEntries = 300;

/**
 * Drops the oldest entries, as if the first read had started after them, so that following a session for a year holds
 * no more than on the first day. Late entries stay with their notice.
 */
export function dropOldEntries(state: SessionState): SessionState {
  const { entries } = state;
  if (entries.length <= maxFollowerEntries) return state;
  let from = entries.length - keptFollowerEntries;
  for (let above = entries[from - 1]; above && isLate(above); above = entries[from - 1]) from -= 1;
  const tail = entries.slice(from);
  const first = tail.find((entry) => !isLate(entry));
  return first === undefined ? state : { ...state, entries: tail, earlier: first.seq };
}
