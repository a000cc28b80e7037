import type {
  Failed,
  FailureCode,
  HistoryRefusal,
  Refused,
  StillRunning,
  InputRow,
  RunRow,
  SearchHit,
} from "@holdfast/engine";
import type { ProblemCode, ProblemDetails, InboxItem, RunView } from "@holdfast/protocol";

export interface ProblemReply {
  readonly kind: "problem";
  readonly code: ProblemCode;
  readonly details?: ProblemDetails;
  /** Details for the host's own log: this should not have happened. */
  readonly bug?: string;
}

/** What a handler returns: the route's own answer, or a problem as a value. */
export type Reply<T> = { readonly kind: "answer"; readonly value: T } | ProblemReply;

/** The route's own answer, already serialized by the store. */
export interface SerializedReply {
  readonly kind: "written";
  readonly json: Uint8Array<ArrayBuffer>;
}

export function answer<T>(value: T): Reply<T> {
  return { kind: "answer", value };
}

export function problem(code: ProblemCode, details?: ProblemDetails): ProblemReply {
  return { kind: "problem", code, ...(details && { details }) };
}

type Refusal = Refused | HistoryRefusal | StillRunning;

/**
 * Maps engine codes to the wire. Codes only a runner can get, since only it writes under a fence, map to `internal`: a
 * handler that gets one has a bug.
 */
const problemCodes: Record<Refusal["code"] | FailureCode, ProblemCode> = {
  session_not_found: "session_not_found",
  session_exists: "session_exists",
  session_trashed: "session_trashed",
  session_not_trashed: "session_not_trashed",
  revision_conflict: "revision_conflict",
  version_conflict: "version_conflict",
  head_moved: "head_moved",
  covers_cut: "covers_cut",
  epoch_moved: "epoch_moved",
  run_live: "run_live",
  run_ended: "run_ended",
  compaction_live: "compaction_live",
  idempotency_conflict: "idempotency_conflict",
  history_live: "history_live",
  input_claimed: "input_claimed",
  message_not_found: "message_not_found",
  cancel_pending: "cancel_pending",
  nothing_to_undo: "nothing_to_undo",
  nothing_to_redo: "nothing_to_redo",
  entry_not_found: "entry_not_found",
  blob_not_found: "blob_not_found",
  approval_answered: "approval_answered",
  payload_too_large: "payload_too_large",
  invalid_event: "invalid_request",
  // Only the gateway names inbound updates.
  inbound_taken: "internal",
  fenced: "internal",
  cancel_requested: "internal",
  deltas_unaccounted: "internal",
  store_busy: "store_busy",
  store_full: "store_full",
  store_unwritable: "store_unwritable",
  store_unavailable: "store_unavailable",
  store_unknown: "store_unknown",
  store_closed: "shutting_down",
};

/**
 * A refusal concerns the caller's own session and is sent in full; a failure may name files and servers, and is not.
 */
export function problemFrom(result: Refusal | Failed): ProblemReply {
  const code = problemCodes[result.code];
  if (code === "internal")
    return { kind: "problem", code, bug: `${result.code}: ${result.message}` };
  return result.status === "refused" ? problem(code, { detail: result.message }) : problem(code);
}

export function problemFromFailure(code: FailureCode): ProblemReply {
  return problem(problemCodes[code]);
}

/** Rows as a client sees them, without engine-only fields. */
export function viewRun(row: RunRow): RunView {
  const { id, session, state, cause, attempt, step, cancelRequested, continues } = row;
  const { startedAt, endedAt } = row;
  return {
    id,
    sessionId: session,
    state,
    cause,
    attempt,
    step,
    cancelRequested,
    continues,
    startedAt,
    endedAt,
  };
}

export function viewInput(row: InputRow): InboxItem {
  const { messageId, runId, clientId, mode, lane, seq, at, content } = row;
  return {
    messageId,
    runId,
    clientId,
    mode,
    ...(lane !== null && { lane }),
    text: content?.text ?? "",
    attachments: [...(content?.attachments ?? [])],
    seq,
    acceptedAt: at,
  };
}

export function viewHit({ session, highlights, ...shown }: SearchHit) {
  const marks = highlights.map(([from, to]): [number, number] => [from, to]);
  return { ...shown, sessionId: session, marks };
}
