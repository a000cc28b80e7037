import { decodeEvent, type NewEvent, type Seq } from "@holdfast/protocol";

import type { Commit, Refused } from "../ports/commit.ts";
import type { SessionRow } from "../ports/rows.ts";
import type { LoadedRows } from "./needs.ts";
import { refuse } from "./check-commit.ts";

export interface StartingSession {
  readonly status: "begun";
  readonly session: SessionRow;
  readonly created: boolean;
}

/** The row that a commit starts from: the stored one, or an empty one when the commit creates the session. */
export function startingSession(
  { session: stored, purged = false }: Pick<LoadedRows, "session" | "purged">,
  commit: Commit,
  now: number,
): StartingSession | Refused {
  const [first] = commit.events;
  if (first === undefined) return refuse("invalid_event", "A commit needs at least one event.");
  if (commit.events.slice(1).some((event) => event.type === "session.created")) {
    return refuse("invalid_event", "A session is created by the first event of a commit.");
  }
  if (first.type === "session.created") {
    if (stored !== null) return refuse("session_exists", "There is a session with this id.");
    if (purged) return refuse("session_exists", "There was a session with this id.");
    return { status: "begun", session: emptySession(commit, first, now), created: true };
  }
  if (stored === null || stored.owner !== commit.owner) {
    return refuse("session_not_found", "There is no such session.");
  }
  const restores = first.type === "session.restored";
  if (stored.trashedAt !== null && !restores)
    return refuse("session_trashed", "The session is in the trash.");
  if (stored.trashedAt === null && restores)
    return refuse("session_not_trashed", "The session is not in the trash.");
  return { status: "begun", session: stored, created: false };
}

/** A session before its first event. A branch's numbers go on from the point where it left its origin. */
export function emptySession(
  { owner, session }: Pick<Commit, "owner" | "session">,
  first: NewEvent,
  now: number,
): SessionRow {
  const decoded = decodeEvent({ ...first, seq: 0 as Seq, at: now });
  const known =
    decoded.kind === "known" && decoded.event.type === "session.created"
      ? decoded.event
      : undefined;
  const origin = known?.data.origin ?? null;
  const head = (origin?.seq ?? 0) as Seq;
  return {
    id: session,
    owner,
    head,
    version: 0,
    revision: 0,
    createdAt: now,
    activityAt: now,
    sortAt: now,
    title: null,
    titleSource: null,
    preview: "",
    messageCount: 0,
    model: null,
    workspace: null,
    pinned: false,
    archived: false,
    project: null,
    tags: [],
    trashedAt: null,
    ranges: known?.data.ranges ?? [{ from: (head + 1) as Seq, to: null }],
    origin: origin === null ? null : { sessionId: origin.sessionId, seq: origin.seq },
    epoch: 0,
    liveRun: null,
    liveState: null,
    lastState: null,
    openDeltas: 0,
  };
}
