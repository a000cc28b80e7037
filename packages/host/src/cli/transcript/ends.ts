import type { RunState, ToolOutcome } from "@holdfast/protocol";
import { cleanLine } from "../screen/text.ts";
import { exit } from "../command.ts";

/** How `holdfast run` ends, by how its run did. Scripts rely on these numbers: one may be added, none changed. */
export const runExitCodes = {
  ...exit,
  cancelled: 3,
  interrupted: 4,
  limit: 5,
  /** It waits for a person's word. */
  waiting: 6,
  /** No host could be reached in time. The message stands where it was accepted. */
  unreachable: 7,
} as const;

export function exitCodeOf(state: RunState): number {
  switch (state) {
    case "completed":
      return runExitCodes.done;
    case "cancelled":
      return runExitCodes.cancelled;
    case "interrupted":
      return runExitCodes.interrupted;
    case "limit":
      return runExitCodes.limit;
    case "waiting":
    case "paused":
      return runExitCodes.waiting;
    case "failed":
    case "queued":
    case "claimed":
    case "running":
      return runExitCodes.failed;
  }
}

const runStateTexts: Record<RunState, string> = {
  queued: "It waits its turn.",
  claimed: "It is being written.",
  running: "It is being written.",
  waiting: "It waits for your word.",
  paused: "It is paused.",
  completed: "Completed.",
  cancelled: "Stopped.",
  failed: "The answer failed.",
  interrupted: "The answer was broken off.",
  limit: "The answer was stopped by a limit.",
};

export function describeRunEnd({
  state,
  cause,
}: {
  state: RunState;
  cause: string | null;
}): string {
  const sentence = runStateTexts[state];
  return cause === null ? sentence : `${sentence} (${cleanLine(cause)})`;
}

/** A tool that a person did not allow was not cut off: it was denied. */
export function describeOutcome({
  outcome,
  refusal,
}: {
  readonly outcome: ToolOutcome;
  readonly refusal?: string | undefined;
}): string {
  if (refusal === "denied" || refusal === "forbidden") return "denied";
  return refusal === "expired" ? "not answered in time" : outcome;
}
