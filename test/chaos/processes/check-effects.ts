import type { KnownEvent } from "@holdfast/protocol";

import { countBy, type Evidence, isFromSpill, known } from "./evidence.ts";

type Started = Extract<KnownEvent, { type: "tool.started" }>;

/**
 * P7: a tool that may not be replayed has run at most once per call, never without being recorded as started, and its
 * result says what happened.
 */
export function checkEffects({ logs, effects }: Evidence): string[] {
  const problems: string[] = [];
  const log = [...logs.values()].flatMap(known);
  const started = log.filter((event): event is Started => event.type === "tool.started");
  const recorded = new Set<string>(started.map(({ data }) => data.callId));
  const times = countBy(effects, ({ callId }) => callId);
  const once = new Set(
    effects.filter(({ replay }) => replay === "never").map((effect) => effect.callId),
  );
  for (const [callId, count] of times) {
    if (!recorded.has(callId)) problems.push(`[P7] ${callId} took effect and was never recorded`);
    if (count > 1 && once.has(callId)) problems.push(`[P7] ${callId} took effect ${count} times`);
  }
  const results = new Map<string, string[]>();
  for (const event of log) {
    if (event.type !== "message.tool") continue;
    for (const part of event.data.parts) {
      if (part.type !== "tool_result") continue;
      const { callId, outcome } = part;
      const before = results.get(callId) ?? [];
      // A spill's outcome replaces an unknown one.
      const isNews = isFromSpill(event) && before.join() === "unknown";
      results.set(callId, [...(isNews ? [] : before), outcome]);
    }
  }
  for (const [callId, outcomes] of results)
    if (outcomes.length > 1) problems.push(`[P7] ${callId} has results: ${outcomes.join(", ")}`);
  for (const { data } of started) {
    const { callId } = data;
    const [outcome] = results.get(callId) ?? [];
    const count = times.get(callId) ?? 0;
    if (outcome === undefined) problems.push(`[P7] ${callId} was started and has no result`);
    if (outcome === "ok" && count === 0) problems.push(`[P7] ${callId} is ok and had no effect`);
    const saysNothing = outcome === "failed" || outcome === "cancelled";
    if (saysNothing && count > 0 && data.replay === "never")
      problems.push(`[P7] ${callId} is ${outcome} and took effect`);
  }
  return [...problems, ...checkApprovals({ logs, effects: times })];
}

/** Tools that need an approval. */
const asks: ReadonlySet<string> = new Set(["dare", "terminal"]);

/** P7: a call that needs approval took no effect without it, and an acknowledged answer is stored. */
function checkApprovals({
  logs,
  effects,
}: Pick<Evidence, "logs"> & { readonly effects: ReadonlyMap<string, number> }): string[] {
  const problems: string[] = [];
  for (const [session, events] of logs) {
    const calls = new Map<string, string>();
    const allowed = new Set<string>();
    let isAllowedAtAll = false;
    for (const event of known(events)) {
      if (event.type === "approval.asked") calls.set(event.data.approvalId, event.data.callId);
      if (event.type === "approval.answered") {
        const { approvalId, decision } = event.data;
        if (decision !== "deny" && decision !== "expired") allowed.add(calls.get(approvalId) ?? "");
        if (decision === "session") isAllowedAtAll = true;
      }
      if (event.type !== "tool.started" || !asks.has(event.data.name)) continue;
      const { callId } = event.data;
      if (!isAllowedAtAll && !allowed.has(callId) && effects.has(callId))
        problems.push(`[P7] ${callId} of ${session} took effect, and nobody had allowed it`);
    }
  }
  return problems;
}
