import {
  type ApprovalId,
  type BlobId,
  decodeEvent,
  type EventId,
  type KnownEvent,
  type MessageId,
  roleOf,
  type RunId,
  type Seq,
  type SessionId,
  type StoredEvent,
  deltasSettledBy,
  type LaneKey,
  terminalStates,
} from "@holdfast/protocol";
import type {
  ApprovalRow,
  InputRow,
  LeaseRow,
  OutboxRow,
  RunRow,
  SessionRow,
  LaneRow,
  UsageRow,
} from "../ports/rows.ts";
import type { Commit, Refused } from "../ports/commit.ts";
import {
  approvalNamedBy,
  mayWithdraw,
  checkApproval,
  foldApprovals,
  inboundKeyOf,
  checkMemory,
  type MemoryChange,
  memoryChangeOf,
  checkOutbox,
  outboxRowOf,
  mergeChunk,
} from "./fold-work.ts";
import {
  blobsIn,
  foldInput,
  foldRun,
  laneRowOf,
  usageRowOf,
  foldDelta,
  foldSessionRow,
  isAllowedTransition,
} from "./fold-rows.ts";
import { refuse } from "./check-commit.ts";

/** The rows a store reads under its lock before it can decide a commit. */
export interface LoadedRows {
  readonly session: SessionRow | null;
  /** A session with this id existed and was purged. Its id and its seqs are never reused. */
  readonly purged?: boolean;
  /** The session that this commit branches off, if it still exists. */
  readonly origin: SessionRow | null;
  /** Every unreleased lease of the session, expired or not. */
  readonly leases: readonly LeaseRow[];
  readonly runs: ReadonlyMap<RunId, RunRow>;
  /** The inputs the commit names, by message and by client id. */
  readonly inputs: ReadonlyMap<MessageId, InputRow>;
  readonly inputsByClient: ReadonlyMap<string, InputRow>;
  /** The commit's blobs that exist. */
  readonly blobs: ReadonlySet<BlobId>;
  /** The approvals the commit names and, if it may close others, the open ones of its session. */
  readonly approvals: ReadonlyMap<ApprovalId, ApprovalRow>;
  /** The deliveries that already answer the inbound keys the commit names, in any session. */
  readonly inbound: ReadonlyMap<string, Pick<OutboxRow, "session" | "delivery">>;
}

/** Which rows to load. */
export interface CommitNeeds {
  /** Locked together with the branch, so that a purge of the origin comes either before or after it. */
  readonly origin: SessionId | undefined;
  readonly runs: readonly RunId[];
  readonly messages: readonly MessageId[];
  readonly clientIds: readonly string[];
  readonly blobs: readonly BlobId[];
  readonly approvals: readonly ApprovalId[];
  readonly openApprovals: boolean;
  readonly inbound: readonly string[];
  /** Identifies a commit that was already made. */
  readonly firstEvent: EventId | undefined;
}

export function needsOf(commit: Commit): CommitNeeds {
  const runs = new Set<RunId>();
  const messages = new Set<MessageId>();
  const clientIds = new Set<string>();
  const blobs = new Set<BlobId>();
  const approvals = new Set<ApprovalId>();
  const inbound = new Set<string>();
  let origin: SessionId | undefined;
  for (const event of commit.events) {
    if (roleOf(event) === "delta") continue;
    if (event.runId !== undefined) runs.add(event.runId);
    const known = knownEvent({ ...event, seq: 0 as Seq, at: 0 });
    if (known === undefined) continue;
    for (const blob of blobsIn(known)) blobs.add(blob);
    if (known.type === "input.accepted") {
      clientIds.add(known.data.clientId);
      runs.add(known.data.runId);
    }
    if (known.type === "session.created") origin = known.data.origin?.sessionId;
    const messageId = inputNamedBy(known);
    if (messageId !== undefined) messages.add(messageId);
    const approvalId = approvalNamedBy(known);
    if (approvalId !== undefined) approvals.add(approvalId);
    const inboundKey = inboundKeyOf(known);
    if (inboundKey !== undefined) inbound.add(inboundKey.key);
  }
  return {
    origin,
    runs: [...runs],
    messages: [...messages],
    clientIds: [...clientIds],
    blobs: [...blobs],
    approvals: [...approvals],
    openApprovals: commit.events.some(mayWithdraw),
    inbound: [...inbound],
    firstEvent: commit.events[0]?.id,
  };
}

export function inputNamedBy(event: KnownEvent): MessageId | undefined {
  switch (event.type) {
    case "input.accepted":
    case "input.changed":
    case "input.removed":
    case "message.user":
      return event.data.messageId;
    default:
      return undefined;
  }
}

function knownEvent(event: StoredEvent): KnownEvent | undefined {
  const decoded = decodeEvent(event);
  return decoded.kind === "known" ? decoded.event : undefined;
}

/** Folds the events of one commit into rows, one by one. It stops at the first rule that an event breaks. */
export class CommitFold {
  readonly #loaded: LoadedRows;
  readonly #isBeingCut: boolean;
  readonly log: StoredEvent[] = [];
  readonly deltas: StoredEvent[] = [];
  readonly runs = new Map<RunId, RunRow>();
  readonly inputs = new Map<MessageId, InputRow>();
  readonly lanes = new Map<LaneKey, LaneRow>();
  readonly usage: UsageRow[] = [];
  readonly blobs: BlobId[] = [];
  readonly approvals = new Map<ApprovalId, ApprovalRow>();
  readonly memory: MemoryChange[] = [];
  readonly outbox = new Map<string, OutboxRow>();
  session: SessionRow;
  readonly #now: number;
  /** How many deltas the commit's entries settle, and how many were open at the first of them. */
  #settled: { named: number; readonly open: number } | undefined;

  /** `copied`: another store has checked the rules. */
  readonly #events: "new" | "copied";

  constructor(
    loaded: LoadedRows,
    session: SessionRow,
    now: number,
    events: "new" | "copied" = "new",
  ) {
    this.#loaded = loaded;
    this.#events = events;
    this.#isBeingCut = loaded.leases.some(
      ({ kind, expiresAt }) => kind === "history" && expiresAt > now,
    );
    this.session = session;
    this.#now = now;
  }

  get settles(): boolean {
    return this.#settled !== undefined && this.#settled.named > 0;
  }

  add(event: StoredEvent): Refused | undefined {
    if (roleOf(event) === "delta") {
      this.deltas.push(event);
      this.session = foldDelta(this.session, event);
      return undefined;
    }
    const decoded = decodeEvent(event);
    if (decoded.kind === "invalid" && this.#events === "new")
      return refuse("invalid_event", `${event.type}: ${decoded.reason}`);
    const refused = decoded.kind === "known" ? this.#addKnown(decoded.event) : undefined;
    if (refused !== undefined) return refused;
    this.log.push(event);
    this.session = foldSessionRow(this.session, decoded);
    return undefined;
  }

  /** Checks that need all events. */
  finish(): Refused | undefined {
    if (this.#events === "copied") return undefined;
    if (this.#settled === undefined || this.#settled.named === this.#settled.open) return undefined;
    const { named, open } = this.#settled;
    return refuse(
      "deltas_unaccounted",
      `The settlement stands for ${named} deltas, but ${open} are open.`,
    );
  }

  #addKnown(event: KnownEvent): Refused | undefined {
    const refused =
      (this.#events === "copied" ? this.#checkOthers(event) : this.#checkRules(event)) ??
      this.#addBlobs(event);
    if (refused !== undefined) return refused;
    this.#countSettled(event);
    for (const row of foldApprovals(this.#knownApprovals(), event, this.session))
      this.approvals.set(row.id, row);

    const runId = runNamedBy(event);
    if (runId !== undefined)
      setIfDefined(this.runs, runId, foldRun(this.#run(runId), event, this.session));
    const messageId = inputNamedBy(event);
    if (messageId !== undefined) {
      setIfDefined(this.inputs, messageId, foldInput(this.#input(messageId), event, this.session));
    }
    const lane = laneRowOf(event, this.session);
    if (lane !== undefined) this.lanes.set(lane.lane, lane);
    const memory = memoryChangeOf(event, this.session);
    if (memory !== undefined) this.memory.push(memory);
    const chunk = outboxRowOf(event, this.session);
    if (chunk !== undefined) mergeChunk(this.outbox, chunk);
    const usage = usageRowOf(event, this.session);
    if (usage !== undefined) this.usage.push(usage);
    return undefined;
  }

  #checkRules(event: KnownEvent): Refused | undefined {
    return (
      this.#checkRun(event) ??
      this.#checkInput(event) ??
      this.#checkApproval(event) ??
      checkMemory(event, this.log) ??
      checkOutbox(event, this.session, this.#loaded.inbound, this.outbox.values()) ??
      this.#checkCovers(event)
    );
  }

  /** A copied event changes no row of another session. */
  #checkOthers(event: KnownEvent): Refused | undefined {
    const [runId, approvalId, messageId] = [
      runNamedBy(event),
      approvalNamedBy(event),
      inputNamedBy(event),
    ];
    const rows = [
      runId && this.#loaded.runs.get(runId),
      approvalId && this.#loaded.approvals.get(approvalId),
      messageId && this.#loaded.inputs.get(messageId),
    ];
    const inbound = inboundKeyOf(event);
    const answered = inbound && this.#loaded.inbound.get(inbound.key);
    const isOthers = [...rows, answered].some((row) => row && row.session !== this.session.id);
    return isOthers ? refuse("session_exists", "Another session has this id.") : undefined;
  }

  #run(id: RunId): RunRow | undefined {
    return this.runs.get(id) ?? this.#loaded.runs.get(id);
  }

  #checkRun(event: KnownEvent): Refused | undefined {
    if (event.type !== "run.state" || event.runId === undefined) return undefined;
    const run = this.#run(event.runId);
    const { state } = event.data;
    if (run !== undefined && terminalStates.has(run.state)) {
      return refuse("run_ended", `The run has ended before: ${run.state}.`);
    }
    if (!isAllowedTransition(run?.state, state)) {
      const from = run?.state ?? "not there";
      return refuse("invalid_event", `A run that is ${from} cannot become ${state}.`);
    }
    if (state === "claimed" && isUnclaimed(run) && this.#isBeingCut)
      return refuse(
        "history_live",
        "The conversation is being cut: nothing new begins until then.",
      );
    // P6: a settling runner learns of a cancel here at the latest.
    if (run?.cancelRequested === true && state === "completed") {
      return refuse("cancel_requested", "The run was cancelled.");
    }
    const isLive = event.runId === this.session.liveRun;
    if (terminalStates.has(state) && isLive && this.session.openDeltas > 0) {
      return refuse("deltas_unaccounted", "A run cannot end while its output is not settled.");
    }
    return undefined;
  }

  #input(id: MessageId): InputRow | undefined {
    const input = this.inputs.get(id) ?? this.#loaded.inputs.get(id);
    return input?.session === this.session.id ? input : undefined;
  }

  #checkInput(event: KnownEvent): Refused | undefined {
    if (event.type === "input.changed" || event.type === "input.removed") {
      const input = this.#input(event.data.messageId);
      if (input === undefined) return refuse("message_not_found", "There is no such message.");
      return input.state === "queued" ? undefined : inputClaimed;
    }
    if (event.type !== "input.accepted") return undefined;
    // The database would reject a duplicate client id with an error; refuse it properly here.
    const { clientId } = event.data;
    const isDuplicate = this.inputs.values().some((input) => input.clientId === clientId);
    return isDuplicate ? refuse("invalid_event", "A commit names a client id once.") : undefined;
  }

  #checkApproval(event: KnownEvent): Refused | undefined {
    if (
      event.type !== "approval.asked" &&
      event.type !== "approval.answered" &&
      event.type !== "approval.revoked"
    )
      return undefined;
    const { approvalId: id } = event.data;
    const row = this.approvals.get(id) ?? this.#loaded.approvals.get(id);
    const run = event.runId === undefined ? undefined : this.#run(event.runId);
    return checkApproval(row, event, this.session, { run, now: this.#now });
  }

  /** Only this session's: an id may belong to another one. */
  *#knownApprovals(): Generator<ApprovalRow> {
    yield* this.approvals.values();
    for (const row of this.#loaded.approvals.values())
      if (!this.approvals.has(row.id) && row.session === this.session.id) yield row;
  }

  /**
   * An epoch counts only while everything it covers is visible; cuts remove from the end, so checking its end is
   * enough.
   */
  #checkCovers(event: KnownEvent): Refused | undefined {
    if (event.type !== "context.compacted") return undefined;
    const { from, to } = event.data.covers;
    const isSeen = (seq: Seq) =>
      this.session.ranges.some((range) => seq >= range.from && seq <= (range.to ?? Infinity));
    if (from <= to && isSeen(from) && isSeen(to)) return undefined;
    return refuse("covers_cut", "What the summary stands for is not in view any more.");
  }

  #addBlobs(event: KnownEvent): Refused | undefined {
    for (const blob of blobsIn(event)) {
      if (this.#loaded.blobs.has(blob)) this.blobs.push(blob);
      else if (this.#events === "new") return refuse("blob_not_found", `There is no blob ${blob}.`);
    }
    return undefined;
  }

  #countSettled(event: KnownEvent): void {
    const deltas = deltasSettledBy(event);
    if (deltas === undefined) return;
    this.#settled ??= { named: 0, open: this.session.openDeltas };
    for (const [from, to] of deltas) this.#settled.named += to - from + 1;
  }
}

const inputClaimed = refuse(
  "input_claimed",
  "The message is not waiting any more: it was taken, or removed.",
);

/** Its first claim has not happened yet: every new run passes through it. */
function isUnclaimed(run: RunRow | undefined): boolean {
  return run === undefined || run.state === "queued";
}

function runNamedBy(event: KnownEvent): RunId | undefined {
  return event.type === "input.accepted" ? event.data.runId : event.runId;
}

function setIfDefined<K, V>(map: Map<K, V>, key: K, value: V | undefined): void {
  if (value !== undefined) map.set(key, value);
}
