import type { KnownEvent, RunId } from "@holdfast/protocol";

import { isTerminal } from "./known-sessions.ts";
import { acknowledged, bySeq, countBy, type Evidence, isFromSpill, known } from "./evidence.ts";

type Accepted = Extract<KnownEvent, { type: "input.accepted" }>;

/** P1: an acknowledged input is stored unchanged, once, and entered the conversation or was taken back. */
export function checkInputs(evidence: Evidence): string[] {
  const problems: string[] = [];
  for (const { request, told } of acknowledged(evidence)) {
    if (request.act !== "send" && request.act !== "retry") continue;
    const { session, clientId } = request;
    const stored = bySeq(evidence.logs.get(session) ?? []).get(told.seq ?? 0);
    const { messageId, runId } = told;
    if (
      stored?.type !== "input.accepted" ||
      stored.data["messageId"] !== messageId ||
      stored.data["runId"] !== runId ||
      (request.act === "send" && stored.data["clientId"] !== clientId)
    )
      problems.push(
        `[P1] ${clientId} of ${session} was acknowledged as ${messageId} at ${told.seq}, where ${stored?.type ?? "nothing"} ${stored?.id ?? ""} is`,
      );
  }
  for (const [session, events] of evidence.logs) {
    const log = known(events);
    const accepted = log.filter((event): event is Accepted => event.type === "input.accepted");
    for (const [clientId, count] of countBy(accepted, ({ data }) => data.clientId))
      if (count > 1) problems.push(`[P1] ${clientId} of ${session} was accepted ${count} times`);
    const gone = log.filter(({ type }) => type === "message.user" || type === "input.removed");
    const ends = countBy(gone, ({ data }) => String("messageId" in data && data.messageId));
    for (const { data } of accepted) {
      const count = ends.get(data.messageId) ?? 0;
      if (count !== 1)
        problems.push(`[P1] ${data.messageId} of ${session} was taken ${count} times`);
    }
  }
  return problems;
}

/** What a run does while it is live: none of it may follow its end. */
const work: ReadonlySet<string> = new Set([
  "step.started",
  "message.delta",
  "message.assistant",
  "message.tool",
  "tool.started",
  "tool.output",
  "tool.ended",
]);

/** P4: every accepted run has ended, once, and did nothing afterwards. Its spilled output may be added later. */
export function checkRuns({ logs }: Evidence): string[] {
  const problems: string[] = [];
  for (const [session, events] of logs) {
    const ends = new Map<RunId, number[]>();
    for (const event of known(events)) {
      const { runId, seq } = event;
      if (event.type === "input.accepted") ends.set(event.data.runId, []);
      if (runId === undefined) continue;
      const ended = ends.get(runId) ?? [];
      if (event.type === "run.state" && isTerminal(event.data.state))
        ends.set(runId, [...ended, seq]);
      else if (ended.length > 0 && work.has(event.type) && !isFromSpill(event))
        problems.push(`[P4] ${runId} of ${session} had ended and wrote ${event.type} at ${seq}`);
    }
    for (const [runId, seqs] of ends)
      if (seqs.length !== 1)
        problems.push(
          `[P4] ${runId} of ${session} ended ${seqs.length} times (${seqs.join(", ")})`,
        );
  }
  return problems;
}

/** A run that never began ends with its message: taken back, or left unanswered in the trash. */
const withoutCancel: ReadonlySet<string> = new Set(["removed", "trashed"]);

/**
 * P6: an acknowledged cancel took effect or came after the end, no run completes after it, and nothing else cancels.
 */
export function checkCancels(evidence: Evidence): string[] {
  const problems: string[] = [];
  const runs = new Map<string, { cancels: number[]; end: { seq: number; state: string } | null }>();
  for (const events of evidence.logs.values()) {
    for (const event of known(events)) {
      const { runId, seq } = event;
      if (runId === undefined) continue;
      const run = runs.get(runId) ?? { cancels: [], end: null };
      runs.set(runId, run);
      if (event.type === "run.cancel") run.cancels.push(seq);
      if (event.type !== "run.state" || !isTerminal(event.data.state)) continue;
      const { state, cause } = event.data;
      run.end ??= { seq, state };
      if (state === "completed" && run.cancels.length > 0)
        problems.push(`[P6] ${runId} was cancelled at ${run.cancels[0]} and completed at ${seq}`);
      if (state === "cancelled" && run.cancels.length === 0 && !withoutCancel.has(cause ?? ""))
        problems.push(`[P6] ${runId} ended as cancelled, and nobody had asked for it`);
    }
  }
  for (const { request } of acknowledged(evidence)) {
    if (request.act !== "cancel") continue;
    const run = runs.get(request.runId);
    if (run === undefined || (run.cancels.length === 0 && run.end === null))
      problems.push(`[P6] the cancel of ${request.runId} was acknowledged and is not there`);
  }
  return problems;
}
