import {
  type BlobId,
  decodeEvent,
  type Fence,
  type MessageId,
  type Seq,
  type StoredEvent,
  type NewEvent,
} from "@holdfast/protocol";
import type {
  ApprovalRow,
  Holder,
  InputRow,
  LaneRow,
  LeaseKind,
  LeaseRow,
  OutboxRow,
  RunRow,
  SessionRow,
  UsageRow,
} from "../ports/rows.ts";
import type { Commit, Committed, CopiedFrom, Refused } from "../ports/commit.ts";
import type { LeaseRequest, LeaseResult } from "../ports/lease.ts";
import { CommitFold, type LoadedRows } from "./commit-fold.ts";
import type { MemoryChange } from "./fold-work.ts";
import { isCommitTooLarge, maxCommitLength, checkExpectations, refuse } from "./check-commit.ts";

/** What a store writes, all in one transaction. */
export interface Plan {
  readonly status: "planned";
  readonly session: SessionRow;
  readonly created: boolean;
  /** The links of copied events, by seq; all other events are linked when they are written. */
  readonly links?: ReadonlyMap<Seq, string | null>;
  /** Only head, activity and open deltas of the session's row changed: the list needs no write. */
  readonly checkpoint: boolean;
  readonly log: readonly StoredEvent[];
  readonly deltas: readonly StoredEvent[];
  /** The open deltas are settled: nothing reads them any more. */
  readonly settles: boolean;
  readonly runs: readonly RunRow[];
  readonly inputs: readonly InputRow[];
  readonly lanes: readonly LaneRow[];
  readonly usage: readonly UsageRow[];
  readonly approvals: readonly ApprovalRow[];
  /** In order: a later change may forget what an earlier one marked. */
  readonly memory: readonly MemoryChange[];
  readonly outbox: readonly OutboxRow[];
  /** One more reference each; a blob may occur several times. */
  readonly blobs: readonly BlobId[];
  readonly dropsLeases: boolean;
  readonly result: Committed;
}

/** The session already has this input: nothing is written. */
export interface RepeatedInput {
  readonly status: "repeated";
  readonly input: InputRow;
}

/**
 * The rules of the log, in one place and without any I/O. A store calls this inside its write transaction with the rows
 * it has locked, and writes the resulting plan: so the three stores cannot differ in what they accept.
 */
export function decideCommit(
  loaded: LoadedRows,
  commit: Commit,
  now: number,
): Plan | RepeatedInput | Refused {
  const start = startingSession(loaded, commit, now);
  if (start.status === "refused") return start;
  const { session: current } = start;
  if (commit.copied !== undefined) return foldCommit(loaded, commit, start, now);
  if (isCommitTooLarge(commit.events)) {
    return refuse("payload_too_large", `A commit has at most ${maxCommitLength} characters.`);
  }

  if (commit.under !== undefined && !holdsLease(loaded.leases, commit.under)) {
    return refuse("fenced", "Another holder has taken over, or the lease was given up.");
  }
  // Before the expectations: accepting the message the first time moved the head.
  for (const { type, data } of commit.events) {
    const { clientId, hash } = data;
    if (type !== "input.accepted" || typeof clientId !== "string") continue;
    const earlier = loaded.inputsByClient.get(clientId);
    if (earlier === undefined) continue;
    if (hash === earlier.hash) return { status: "repeated", input: earlier };
    return refuse("idempotency_conflict", "This client id was used for another message.");
  }
  const unmetExpectation = checkExpectations(current, loaded.leases, commit.expect, now);
  if (unmetExpectation !== undefined) return unmetExpectation;
  return foldCommit(loaded, commit, start, now);
}

function foldCommit(
  loaded: LoadedRows,
  commit: Commit,
  { session: current, created }: StartingSession,
  now: number,
): Plan | Refused {
  const at = Math.max(now, current.activityAt);
  const folded = new CommitFold(loaded, current, now, commit.copied ? "copied" : "new");
  const links = new Map<Seq, string | null>();
  for (const [index, newEvent] of commit.events.entries()) {
    const next = { seq: (folded.session.head + 1) as Seq, at, quiet: commit.touch === "quiet" };
    const from: CopiedFrom = commit.copied?.[index] ?? next;
    if (from.seq < next.seq)
      return refuse("head_moved", `Event ${from.seq} cannot follow ${folded.session.head}.`);
    if (from.link !== undefined) links.set(from.seq, from.link);
    const { seq } = from;
    const event: StoredEvent = {
      ...newEvent,
      seq,
      at: from.at,
      ...(from.quiet && { quiet: true }),
    };
    const refused = folded.add(event);
    if (refused !== undefined) return refused;
  }
  const refused = folded.finish();
  if (refused !== undefined) return refused;
  const { session, log, deltas, settles, runs, inputs, lanes, usage, blobs } = folded;
  return {
    status: "planned",
    session,
    created,
    ...(links.size > 0 && { links }),
    checkpoint: !created && differsInHeadOnly(current, session),
    log,
    deltas,
    settles,
    runs: [...runs.values()],
    inputs: [...inputs.values()],
    lanes: [...lanes.values()],
    usage,
    approvals: [...folded.approvals.values()],
    memory: folded.memory,
    outbox: [...folded.outbox.values()],
    blobs,
    dropsLeases: current.trashedAt === null && session.trashedAt !== null,
    result: committedResult(current, session, at, inputs),
  };
}

function committedResult(
  current: SessionRow,
  session: SessionRow,
  at: number,
  inputs: ReadonlyMap<MessageId, InputRow>,
): Committed {
  const accepted = inputs.values().find((input) => input.seq > current.head);
  return {
    status: "committed",
    first: (current.head + 1) as Seq,
    last: session.head,
    at,
    version: session.version,
    revision: session.revision,
    ...(accepted && {
      input: { messageId: accepted.messageId, runId: accepted.runId, seq: accepted.seq },
    }),
  };
}

/** The result for an input that the session already has. */
export function repeatedInputResult({ input }: RepeatedInput, session: SessionRow): Committed {
  return {
    status: "committed",
    first: input.seq,
    last: input.seq,
    at: input.at,
    version: session.version,
    revision: session.revision,
    repeated: true,
    input: { messageId: input.messageId, runId: input.runId, seq: input.seq },
  };
}

/**
 * The result for a commit whose first event is already stored: version and revision are current, the rest is as it was.
 */
export function repeatedCommitResult(
  commit: Commit,
  found: Pick<StoredEvent, "seq" | "at">,
  session: SessionRow,
): Committed {
  const input = acceptedInputOf(commit, found.seq);
  return {
    status: "committed",
    first: found.seq,
    last: (found.seq + commit.events.length - 1) as Seq,
    at: found.at,
    version: session.version,
    revision: session.revision,
    repeated: true,
    ...(input && { input }),
  };
}

function acceptedInputOf(commit: Commit, first: Seq): Committed["input"] {
  for (const [index, event] of commit.events.entries()) {
    if (event.type !== "input.accepted") continue;
    const seq = (first + index) as Seq;
    const decoded = decodeEvent({ ...event, seq, at: 0 });
    if (decoded.kind !== "known" || decoded.event.type !== "input.accepted") continue;
    const { messageId, runId } = decoded.event.data;
    return { messageId, runId, seq };
  }
  return undefined;
}

// P3: the lease row names the only fence that may write. An expired lease that nobody took still belongs to its holder.
function holdsLease(
  leases: readonly LeaseRow[],
  under: { lease: LeaseKind; fence: number },
): boolean {
  return leases.some((lease) => lease.kind === under.lease && lease.fence === under.fence);
}

const checkpointFields: ReadonlySet<string> = new Set(["head", "activityAt", "openDeltas"]);

/** Runs for every commit: a plain loop, since copying the row would cost more than everything else. */
function differsInHeadOnly(a: SessionRow, b: SessionRow): boolean {
  for (const name in b) {
    const key = name as keyof SessionRow;
    if (a[key] !== b[key] && !checkpointFields.has(name)) return false;
  }
  return true;
}

export interface StartingSession {
  readonly status: "begun";
  readonly session: SessionRow;
  readonly created: boolean;
}

/** The row a commit starts from: the stored one, or an empty one if the commit creates the session. */
function startingSession(
  { session: stored, purged = false, origin }: Pick<LoadedRows, "session" | "purged" | "origin">,
  commit: Commit,
  now: number,
): StartingSession | Refused {
  const [first] = commit.events;
  if (first === undefined) return refuse("invalid_event", "A commit needs at least one event.");
  if (commit.events.slice(1).some((event) => event.type === "session.created")) {
    return refuse("invalid_event", "A session is created by the first event of a commit.");
  }
  if (first.type === "session.created") {
    if (stored !== null)
      return refuse("session_exists", "There is already a session with this id.");
    if (purged) return refuse("session_exists", "There was a session with this id.");
    const session = emptySession(commit, first, commit.copied?.[0]?.at ?? now);
    const refused = checkOrigin(session, origin);
    return refused ?? { status: "begun", session, created: true };
  }
  if (stored === null || stored.owner !== commit.owner) {
    return refuse("session_not_found", "There is no such session.");
  }
  if (commit.copied !== undefined) return { status: "begun", session: stored, created: false };
  const restores = first.type === "session.restored";
  if (stored.trashedAt !== null && !restores)
    return refuse("session_trashed", "The session is in the trash.");
  if (stored.trashedAt === null && restores)
    return refuse("session_not_trashed", "The session is not in the trash.");
  return { status: "begun", session: stored, created: false };
}

/** P13: a branch reads its origin's rows. A purge that came first has deleted them. */
function checkOrigin(branch: SessionRow, stored: SessionRow | null): Refused | undefined {
  if (branch.origin === null) return undefined;
  if (stored === null || stored.owner !== branch.owner)
    return refuse("session_not_found", "The session to branch off no longer exists.");
  if (stored.head < branch.origin.seq)
    return refuse("invalid_event", `The session to branch off ends at ${stored.head}.`);
  return undefined;
}

/** A session before its first event. A branch continues the seqs of its origin from where it left. */
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
    mode: null,
    persona: null,
    trashedAt: null,
    ranges: known?.data.ranges ?? [{ from: (head + 1) as Seq, to: null }],
    alternatives: [],
    origin: origin === null ? null : { sessionId: origin.sessionId, seq: origin.seq },
    epoch: 0,
    liveRun: null,
    liveState: null,
    lastState: null,
    openDeltas: 0,
  };
}

export function sameHolder(a: Holder, b: Holder): boolean {
  return (
    a.nonce === b.nonce &&
    a.host === b.host &&
    a.pid === b.pid &&
    a.thread === b.thread &&
    a.agent === b.agent &&
    a.boot === b.boot
  );
}

/** For people and logs: who, where, and which of several with the same name. */
export function describeHolder({ host, pid, thread, agent, nonce }: Holder): string {
  return `${agent} on ${host}, process ${pid}, thread ${thread} (${nonce})`;
}

/**
 * Decides who holds the lease after a request. `lastFence` is the greatest fence ever issued for this kind and session;
 * the stored counter outlives every lease, so a forgotten holder can never match again.
 */
export function decideLease(
  current: LeaseRow | null,
  lastFence: number,
  request: LeaseRequest,
  now: number,
): Extract<LeaseResult, { status: "acquired" | "held" }> {
  const { kind, session, holder, ttlMs, replacing } = request;
  const expiresAt = now + ttlMs;
  if (current !== null && sameHolder(current.holder, holder)) {
    return {
      status: "acquired",
      lease: { ...current, expiresAt: Math.max(current.expiresAt, expiresAt) },
    };
  }
  const free = current === null || current.expiresAt <= now || current.fence === replacing;
  if (!free) return { status: "held", by: current };
  return {
    status: "acquired",
    lease: { kind, session, fence: (lastFence + 1) as Fence, holder, expiresAt },
  };
}
