import {
  type EntryView,
  type InboxItem,
  type LiveView,
  type RunView,
  type SessionRead,
  type SessionView,
  type OwnerId,
  type Seq,
  type SessionId,
  terminalStates,
  isLate,
} from "@holdfast/protocol";
import type { Gap } from "./state.ts";

/**
 * Why the state cannot go on by events alone:
 * - `events_lost`: numbers are missing, and no settled message accounts for them.
 * - `history_returned`: entries came back into view that this reader may not hold.
 */
export type RereadReason = "events_lost" | "history_returned";

/** What a page shows of a session: a read, brought forward by events. Plain JSON. */
export interface SessionState {
  readonly session: SessionView;
  readonly entries: readonly EntryView[];
  readonly run: RunView | null;
  readonly inbox: readonly InboxItem[];
  /** Every event up to here is in the state. */
  readonly seq: Seq;
  readonly live: LiveView | null;
  readonly earlier: Seq | null;
  /** Numbers that were skipped and are not accounted for yet. */
  readonly gaps: readonly Gap[];
  /** Stays until the next read. The state is still good to show meanwhile. */
  readonly readAgain: RereadReason | null;
}

export function startState(read: SessionRead): SessionState {
  const { session, entries, run, inbox, seq, live, earlier } = read;
  return { session, entries, run, inbox, seq, live, earlier, gaps: [], readAgain: null };
}

/** A session before its first event, for a reader that follows from number 0. */
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

/** A run that was claimed and has not ended. */
export function liveRun(state: SessionState): RunView | null {
  return state.run !== null && !terminalStates.has(state.run.state) ? state.run : null;
}

/** Puts a page of earlier entries, as a read with `before` gave it, above those that are held. */
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
