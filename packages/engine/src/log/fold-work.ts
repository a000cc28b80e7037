import {
  answeredDetails,
  type ApprovalDetails,
  approvalDetails,
  type ApprovalId,
  askedDetails,
  columnText,
  type EventData,
  type KnownEvent,
  type NewEvent,
  runState,
  terminalStates,
  type Seq,
  type StoredEvent,
} from "@holdfast/protocol";
import type {
  ApprovalRow,
  RunRow,
  SessionRow,
  OutboxRow,
  MarkRow,
  MemoryTryRow,
} from "../ports/rows.ts";
import type { Refused } from "../ports/commit.ts";
import { refuse } from "./check-commit.ts";
import type { LoadedRows } from "./commit-fold.ts";

/** An approval that nobody answers for seven days counts as a no. */
export const approvalTtlMs = 7 * 24 * 60 * 60 * 1000;

type Asked = Extract<KnownEvent, { type: "approval.asked" }>;
type Answered = Extract<KnownEvent, { type: "approval.answered" | "approval.revoked" }>;

export function approvalNamedBy(event: KnownEvent): ApprovalId | undefined {
  switch (event.type) {
    case "approval.asked":
    case "approval.answered":
    case "approval.revoked":
      return event.data.approvalId;
    default:
      return undefined;
  }
}

/** The decision covers more than one call: the same tool in this session from now on. */
export function holdsForSession(decision: ApprovalRow["decision"]): boolean {
  return decision === "session" || decision === "always";
}

/** Whether an approval covers more than its call and was not revoked. */
export function isGrant({ decision, details }: ApprovalRow): boolean {
  return holdsForSession(decision) && details.revokedAt === undefined;
}

/** Whether an event may close approvals it does not name: then all open ones of the session matter. */
export function mayWithdraw({ type, data }: Pick<NewEvent, "type" | "data">): boolean {
  if (type === "session.trashed") return true;
  if (type !== "run.state") return false;
  const state = runState.safeParse(data["state"]);
  return state.success && terminalStates.has(state.data);
}

/**
 * The approvals of a session that one more event changes; `known` are those it can concern. No row stays open once
 * nobody can act on its answer.
 */
export function foldApprovals(
  known: Iterable<ApprovalRow>,
  event: KnownEvent,
  session: SessionRow,
): readonly ApprovalRow[] {
  switch (event.type) {
    case "approval.asked":
      return isKnown(known, event) ? [] : askedRow(event, session);
    case "approval.answered": {
      const { approvalId, decision } = event.data;
      return openRows(known, (row) => row.id === approvalId).map((row) => ({
        ...row,
        state: "answered",
        decision,
        answeredAt: event.at,
        details: { ...row.details, ...definedDetails(answeredDetails.parse(event.data)) },
      }));
    }
    case "approval.revoked": {
      const { approvalId } = event.data;
      return Iterator.from(known)
        .filter((row) => row.id === approvalId && isGrant(row))
        .map((row) => ({ ...row, details: { ...row.details, revokedAt: event.at } }))
        .toArray();
    }
    case "run.state":
      if (!terminalStates.has(event.data.state)) return [];
      return openRows(known, (row) => row.runId === event.runId).map(withdraw);
    case "session.trashed":
      return openRows(known, () => true).map(withdraw);
    default:
      return [];
  }
}

function isKnown(known: Iterable<ApprovalRow>, event: Asked): boolean {
  return Iterator.from(known).some((row) => row.id === event.data.approvalId);
}

function askedRow(event: Asked, { id: session, owner }: SessionRow): readonly ApprovalRow[] {
  if (event.runId === undefined) return [];
  const { approvalId, callId, name, input, inputHash }: EventData<"approval.asked"> = event.data;
  return [
    {
      id: approvalId,
      session,
      owner,
      runId: event.runId,
      callId,
      tool: columnText(name),
      input,
      inputHash: columnText(inputHash),
      askedAt: event.at,
      expiresAt: event.at + approvalTtlMs,
      state: "open",
      decision: null,
      answeredAt: null,
      details: definedDetails(askedDetails.parse(event.data)),
    },
  ];
}

/** Drops undefined fields, so that a row reads the same whether a field was omitted or never known. */
function definedDetails(details: Readonly<Record<string, unknown>>): ApprovalDetails {
  return approvalDetails.parse(
    Object.fromEntries(Object.entries(details).filter(([, value]) => value !== undefined)),
  );
}

function openRows(
  known: Iterable<ApprovalRow>,
  concerns: (row: ApprovalRow) => boolean,
): ApprovalRow[] {
  return Iterator.from(known)
    .filter((row) => row.state === "open" && concerns(row))
    .toArray();
}

function withdraw(row: ApprovalRow): ApprovalRow {
  return { ...row, state: "withdrawn" };
}

/** An answer must match its question. Time is the store's, so late is late everywhere. */
export function checkApproval(
  row: ApprovalRow | undefined,
  event: Asked | Answered,
  session: SessionRow,
  { run, now }: { readonly run: RunRow | undefined; readonly now: number },
): Refused | undefined {
  const elsewhere = row !== undefined && row.session !== session.id;
  if (event.type === "approval.asked") {
    if (row !== undefined) return refuse("invalid_event", "An approval is asked for once.");
    const asks = run !== undefined && !terminalStates.has(run.state);
    return asks ? undefined : refuse("invalid_event", "Only a run that goes on can ask.");
  }
  if (row === undefined || elsewhere) return refuse("invalid_event", "There is no such approval.");
  if (event.type === "approval.revoked")
    return isGrant(row) ? undefined : refuse("invalid_event", "There is nothing to revoke.");
  if (row.state !== "open") return refuse("approval_answered", "The approval is not open.");
  // Not the event's time, which never goes back: an approval must not be expired for who answers and open for the
  // sweep.
  const isExpired = now >= row.expiresAt;
  if (event.data.decision === "expired")
    // Whoever asks in a call also says when it is too late for an answer.
    return isExpired || row.details.inCall === true
      ? undefined
      : refuse("invalid_event", "The approval has not run out.");
  return isExpired ? refuse("approval_answered", "The approval has run out.") : undefined;
}

/**
 * The chunk that an event creates or changes. P11: accepting a message from a platform also creates the chunk for its
 * answer, so no answer can be settled without a delivery.
 */
export function outboxRowOf(event: KnownEvent, session: SessionRow): OutboxRow | undefined {
  if (event.type === "input.accepted") return pendingChunkFor(event, session);
  if (event.type !== "outbox.changed") return undefined;
  const { approvalId, inbound, replyTo, text, platformId, retryAt, code, message } = event.data;
  const { delivery, chunk, kind, lane, begun, state, from, to, attempts } = event.data;
  return {
    session: session.id,
    delivery,
    chunk,
    kind,
    lane,
    runId: event.runId ?? null,
    approvalId: approvalId ?? null,
    inbound: inbound ?? null,
    replyTo: replyTo ?? null,
    text: text === undefined ? null : columnText(text),
    begun,
    state,
    from,
    to,
    platformId: platformId ?? null,
    attempts,
    retryAt: retryAt ?? null,
    code: code === undefined ? null : columnText(code),
    message: message === undefined ? null : columnText(message),
    at: event.at,
  };
}

function pendingChunkFor(
  event: Extract<KnownEvent, { type: "input.accepted" }>,
  session: SessionRow,
): OutboxRow | undefined {
  const { inbound, lane, runId } = event.data;
  if (inbound === undefined || lane === undefined) return undefined;
  return {
    session: session.id,
    delivery: inbound.delivery,
    chunk: 0,
    kind: "answer",
    lane,
    runId,
    approvalId: null,
    inbound: inbound.key,
    replyTo: inbound.replyTo ?? null,
    text: null,
    begun: event.seq,
    state: "pending",
    from: 0,
    to: 0,
    platformId: null,
    attempts: 0,
    retryAt: null,
    code: null,
    message: null,
    at: event.at,
  };
}

/** The inbound key an event answers for, and its delivery. */
export function inboundKeyOf(
  event: KnownEvent,
): (Pick<OutboxRow, "delivery"> & { readonly key: string }) | undefined {
  if (event.type === "outbox.changed") {
    const { inbound: key, delivery } = event.data;
    return key === undefined ? undefined : { key, delivery };
  }
  if (event.type !== "input.accepted" || event.data.inbound === undefined) return undefined;
  const { key, delivery } = event.data.inbound;
  return { key, delivery };
}

export function checkOutbox(
  event: KnownEvent,
  session: SessionRow,
  inbound: LoadedRows["inbound"],
  earlierRows: Iterable<OutboxRow>,
): Refused | undefined {
  if (event.type === "input.accepted" && event.data.inbound && event.data.lane === undefined)
    return refuse("invalid_event", "What came from a platform names its lane.");
  if (event.type === "outbox.changed" && event.data.from > event.data.to)
    return refuse("invalid_event", "A chunk ends behind its beginning.");
  const answeredKey = inboundKeyOf(event);
  if (answeredKey === undefined) return undefined;
  const { key, delivery } = answeredKey;
  const stored = inbound.get(key);
  const isOther =
    stored !== undefined && (stored.session !== session.id || stored.delivery !== delivery);
  const isDuplicate = Iterator.from(earlierRows).some(
    (row) => row.inbound === key && row.delivery !== delivery,
  );
  // P11: redelivered, or fetched by two pollers, after the lane moved on to another session.
  return isOther || isDuplicate ? refuse("inbound_taken", "This was taken before.") : undefined;
}

/** Identifies a chunk. */
export function outboxKey({ session, delivery, chunk }: OutboxRow): string {
  return `${session} ${delivery} ${chunk}`;
}

/** Only a delivery's first event names what it answers; later events leave that unchanged. */
export function mergeChunk(chunks: Map<string, OutboxRow>, row: OutboxRow): void {
  const key = outboxKey(row);
  const inbound = row.inbound ?? chunks.get(key)?.inbound ?? null;
  chunks.set(key, { ...row, inbound });
}

/**
 * How an event changes what is still to be remembered. It follows from the event alone, so nothing has to be read
 * first.
 */
export type MemoryChange =
  | { readonly do: "mark"; readonly mark: MarkRow }
  | { readonly do: "try"; readonly trying: MemoryTryRow }
  | { readonly do: "forget"; readonly session: SessionRow["id"]; readonly upTo: Seq };

export function memoryChangeOf(event: KnownEvent, session: SessionRow): MemoryChange | undefined {
  switch (event.type) {
    case "memory.marked": {
      if (event.runId === undefined) return undefined;
      const { provider, configuration } = event.data.owner;
      const { seq, runId, at } = event;
      return {
        do: "mark",
        mark: { session: session.id, seq, runId, provider, configuration, at },
      };
    }
    case "memory.tried": {
      const { key, upTo, tries } = event.data;
      const trying = { key, upTo, tries, retryAt: null, code: null, message: null };
      return { do: "try", trying: { session: session.id, ...trying } };
    }
    case "memory.failed": {
      const { key, upTo, tries, retryAt } = event.data;
      const [code, message] = [columnText(event.data.code), columnText(event.data.message)];
      return {
        do: "try",
        trying: { session: session.id, key, upTo, tries, retryAt, code, message },
      };
    }
    case "memory.committed":
      return { do: "forget", session: session.id, upTo: event.data.upTo };
    default:
      return undefined;
  }
}

/**
 * A turn is marked once, after its completion and in the same commit. Nothing can be committed that is still to come.
 */
export function checkMemory(
  event: KnownEvent,
  earlierEvents: readonly StoredEvent[],
): Refused | undefined {
  switch (event.type) {
    case "memory.marked": {
      const ofRun = earlierEvents.filter(
        ({ runId }) => runId !== undefined && runId === event.runId,
      );
      const isCompleted = ofRun.some(
        ({ type, data }) => type === "run.state" && data["state"] === "completed",
      );
      const isMarked = ofRun.some(({ type }) => type === event.type);
      if (isCompleted && !isMarked) return undefined;
      return refuse("invalid_event", "A turn is marked once, by the commit that completes it.");
    }
    case "memory.tried":
    case "memory.failed":
    case "memory.committed":
      if (event.data.upTo < event.seq) return undefined;
      return refuse("invalid_event", "A segment ends before its commit.");
    default:
      return undefined;
  }
}

/** What one session still has to remember. */
export class MemoryRows {
  readonly #marks = new Map<Seq, MarkRow>();
  #trying: MemoryTryRow | null = null;

  constructor(marks: Iterable<MarkRow> = [], trying: MemoryTryRow | null = null) {
    for (const mark of marks) this.#marks.set(mark.seq, mark);
    this.#trying = trying;
  }

  /** Oldest first. */
  get marks(): readonly MarkRow[] {
    return [...this.#marks.values()];
  }

  get trying(): MemoryTryRow | null {
    return this.#trying;
  }

  get tries(): readonly MemoryTryRow[] {
    return this.#trying === null ? [] : [this.#trying];
  }

  apply(change: MemoryChange): void {
    switch (change.do) {
      case "mark":
        this.#marks.set(change.mark.seq, change.mark);
        return;
      case "try":
        this.#trying = change.trying;
        return;
      case "forget":
        for (const seq of this.#marks.keys()) if (seq <= change.upTo) this.#marks.delete(seq);
        this.#trying = null;
    }
  }
}
