import type { InputRow, RunRow, SearchHit } from "@holdfast/engine";
import type { InboxItem, RunView } from "@holdfast/protocol";

export { viewSession } from "@holdfast/engine";

/** Rows as a client sees them: what is for the engine alone stays behind. */
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
