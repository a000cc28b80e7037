import {
  type ApprovalDetails,
  approvalDetails,
  type ApprovalId,
  columnText,
  type EventData,
  type KnownEvent,
  type NewEvent,
  runState,
  terminalStates,
} from "@holdfast/protocol";

import type { ApprovalRow, RunRow, SessionRow } from "../ports/rows.ts";
import type { Refused } from "../ports/commit.ts";
import { refuse } from "./check-commit.ts";

/** An approval that nobody answers for seven days counts as a no. */
export const approvalTtlMs = 7 * 24 * 60 * 60 * 1000;

type Asked = Extract<KnownEvent, { type: "approval.asked" }>;
type Answered = Extract<KnownEvent, { type: "approval.answered" }>;

export function approvalNamedBy(event: KnownEvent): ApprovalId | undefined {
  switch (event.type) {
    case "approval.asked":
    case "approval.answered":
      return event.data.approvalId;
    default:
      return undefined;
  }
}

/** The decision covers more than one call: the same tool in this session from now on. */
export function holdsForSession(decision: ApprovalRow["decision"]): boolean {
  return decision === "session" || decision === "always";
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
      const { approvalId, decision, answer, rule, by } = event.data;
      return openRows(known, (row) => row.id === approvalId).map((row) => ({
        ...row,
        state: "answered",
        decision,
        answeredAt: event.at,
        details: { ...row.details, ...definedDetails({ answer, rule, by }) },
      }));
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
  const { kind, place, shown, rules } = event.data;
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
      details: definedDetails({ kind, place, shown, rules }),
    },
  ];
}

/** Drops undefined fields, so that a row reads the same whether a field was omitted or never known. */
function definedDetails(details: { [K in keyof ApprovalDetails]: unknown }): ApprovalDetails {
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
  if (row.state !== "open") return refuse("approval_answered", "The approval is not open.");
  // Not the event's time, which never goes back: an approval must not be expired for who answers and open for the
  // sweep.
  const isExpired = now >= row.expiresAt;
  if (event.data.decision === "expired")
    return isExpired ? undefined : refuse("invalid_event", "The approval has not run out.");
  return isExpired ? refuse("approval_answered", "The approval has run out.") : undefined;
}
