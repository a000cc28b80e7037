import { type RunId, runId, type Seq, type SessionId, sessionId } from "@holdfast/protocol";

/** A run, and where its session accepted it: all that is needed to read its output again. */
export interface RunAddress {
  readonly runId: RunId;
  readonly begun: Seq;
}

const responseForm = /^resp_([0-7][0-9a-z]{25})([0-9a-z]{1,10})$/;

/** Ids contain what they name, so that they need no table and hold on every host. */
export function responseId({ runId: run, begun }: RunAddress): string {
  return `resp_${run.slice("run_".length)}${begun.toString(36)}`;
}

export function parseResponseId(id: string): RunAddress | null {
  const [, body, position] = responseForm.exec(id) ?? [];
  const run = runId.safeParse(`run_${body}`);
  if (!run.success || position === undefined) return null;
  return { runId: run.data, begun: Number.parseInt(position, 36) as Seq };
}

export function completionId(run: RunId): string {
  return `chatcmpl-${run.slice("run_".length)}`;
}

export function conversationId(session: SessionId): string {
  return `conv_${session.slice("ses_".length)}`;
}

export function parseConversationId(id: string): SessionId | null {
  if (!id.startsWith("conv_")) return null;
  return sessionId.safeParse(`ses_${id.slice("conv_".length)}`).data ?? null;
}
