import type { RunState } from "@holdfast/protocol";

/** How a run ended, as far as protocols have words for it. */
export type RunEnd =
  | "completed"
  | "cancelled"
  /** The answer is cut: it is as long as the model, or the log, allows. */
  | "output_limit"
  /** The provider's filter stopped it. */
  | "filtered"
  /** The run took its last step, or all of its time or money; what it has done is kept. */
  | "run_limit"
  /** The money for a conversation, a schedule or a day is spent. */
  | "spend_limit"
  | "failed";

interface EndedRun {
  readonly state: RunState;
  readonly cause: string | undefined;
}

export function endOfRun({ state, cause = "" }: EndedRun): RunEnd {
  if (state === "completed" || state === "cancelled") return state;
  if (state === "limit") return spendCauses.has(cause) ? "spend_limit" : "run_limit";
  if (state !== "failed") return "failed";
  return failureEnds.get(cause) ?? "failed";
}

const spendCauses: ReadonlySet<string> = new Set([
  "spend_session",
  "spend_schedule",
  "spend_day",
  "spend_profile",
]);

const failureEnds: ReadonlyMap<string, RunEnd> = new Map([
  ["model_output_limit", "output_limit"],
  ["answer_too_long", "output_limit"],
  ["model_refused", "filtered"],
]);

/** Why a run did not end with an answer, where no notice in the session says it better. */
export function describeEnd({ state, cause }: EndedRun): string {
  if (state === "interrupted") return "The host stopped, and the run was not resumed.";
  if (state !== "limit") return "The run failed.";
  return limitTexts.get(cause ?? "") ?? "The run reached a limit.";
}

const limitTexts: ReadonlyMap<string, string> = new Map([
  ["steps", "The run reached its limit of steps."],
  ["time", "The run reached its time limit."],
  ["spend", "The run reached its spending limit."],
  ["spend_session", "The conversation reached its spending limit."],
  ["spend_schedule", "The schedule reached its spending limit for this period."],
  ["spend_day", "The spending limit for 24 hours is reached."],
  ["spend_profile", "The spending limit of the rights profile for 24 hours is reached."],
]);
