import type { FailureCode, HistoryRefusal, Refused, StillRunning } from "@holdfast/engine";
import type { ProblemCode } from "@holdfast/protocol";

export type Refusal = Refused | HistoryRefusal | StillRunning;

/**
 * Maps engine codes to the wire. Codes only a runner can get, since only it writes under a fence, map to `internal`: a
 * handler that gets one has a bug.
 */
export const problemCodes: Record<Refusal["code"] | FailureCode, ProblemCode> = {
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
  blob_unreadable: "blob_unreadable",
  store_busy: "store_busy",
  store_full: "store_full",
  store_unwritable: "store_unwritable",
  store_unavailable: "store_unavailable",
  store_unknown: "store_unknown",
  store_closed: "shutting_down",
};
