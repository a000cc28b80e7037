import { type Evidence, known } from "../processes/evidence.ts";
import type { NodesTimes } from "./nemesis.ts";

export interface NodesFiguresInput {
  readonly times: NodesTimes;
  readonly evidence: Evidence;
  readonly leaseMs: number;
  readonly faults: readonly string[];
}

/** What a host may add to a lease before it has taken over, or is ready again. */
const graceMs = 2_000;
/** How long a frozen host may keep a write of others waiting. */
const maxWriteMs = 2_000;
/** For the write itself, once nobody is in its way. */
const writeGraceMs = 500;

export function nodesFigures({ times, evidence, leaseMs, faults }: NodesFiguresInput) {
  const gaps = failovers(evidence);
  const [p95, longest] = [percentile(gaps, 0.95), percentile(gaps, 1)];
  const write = percentile(times.writes, 1);
  const recovery = percentile(times.recoveries, 1);
  const limit = leaseMs + graceMs;
  const late = [
    ...(p95 > limit ? [`failover p95 took ${p95} ms; the limit is ${limit} ms`] : []),
    ...(write > maxWriteMs + writeGraceMs
      ? [`a write waited ${write} ms for a frozen host; the limit is ${maxWriteMs} ms`]
      : []),
    ...(recovery > limit
      ? [`hosts were ready ${recovery} ms after a fault; the limit is ${limit} ms`]
      : []),
  ];
  const figures: Record<string, string | number> = {
    "faults injected": faults.length,
    "hosts frozen with an open transaction": times.frozenInTransaction,
    "failovers: number, p95, longest, in ms": `${gaps.length}, ${p95}, ${longest}`,
    "longest write of others while a host was frozen, in ms": write,
    "longest time until all hosts were ready after a fault, in ms": recovery,
  };
  return { figures, late };
}

function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return Math.round(sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)] ?? 0);
}

/** For each run that was taken over: from the fault that hit it to its next sign of life. */
function failovers({ happened, logs }: Evidence): number[] {
  const faults = happened.filter(
    (entry) => entry.kind === "fault" && (entry.what === "nodes" || entry.what === "stop"),
  );
  const gaps: number[] = [];
  for (const events of logs.values()) {
    const lastSign = new Map<string, number>();
    for (const event of known(events)) {
      const { runId, at } = event;
      if (runId === undefined) continue;
      const since = lastSign.get(runId);
      const isTakeOver = event.type === "run.state" && (event.data.attempt ?? 0) > 0;
      if (isTakeOver && since !== undefined) {
        const fault = faults.find((entry) => entry.at >= since - 50 && entry.at <= at);
        if (fault !== undefined) gaps.push(at - Math.max(fault.at, since));
      }
      if (event.type !== "run.cancel") lastSign.set(runId, at);
    }
  }
  return gaps;
}
