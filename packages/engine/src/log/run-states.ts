import { type RunState, terminalStates } from "@holdfast/protocol";

import type { RunRow } from "../ports/rows.ts";

/**
 * The run as a program counter: where each state may go. `claimed` is also where a take-over puts a run that had
 * come further; what it then does is read from the log.
 */
const terminalStateList: readonly RunState[] = [...terminalStates];
const transitions: Record<RunState, readonly RunState[]> = {
  queued: ["claimed", ...terminalStateList],
  claimed: ["claimed", "running", "waiting", "paused", ...terminalStateList],
  running: ["claimed", "running", "waiting", "paused", ...terminalStateList],
  waiting: ["claimed", "paused", ...terminalStateList],
  paused: ["claimed", ...terminalStateList],
  completed: [],
  cancelled: [],
  failed: [],
  interrupted: [],
  limit: [],
};

/** P4: a run that has ended goes nowhere. */
export function isAllowedTransition(from: RunState | undefined, to: RunState): boolean {
  return from === undefined ? to === "queued" || to === "claimed" : transitions[from].includes(to);
}

/** Who has to do something next: nobody yet, a runner, a person, or nobody any more. */
const nextActor: Record<RunState, "queue" | "runner" | "person" | "nobody"> = {
  queued: "queue",
  claimed: "runner",
  running: "runner",
  waiting: "person",
  paused: "person",
  completed: "nobody",
  cancelled: "nobody",
  failed: "nobody",
  interrupted: "nobody",
  limit: "nobody",
};

/** A run that rests has no lease and is nobody's to take over: a person's word moves it. */
export function isResting(state: RunState): boolean {
  return nextActor[state] === "person";
}

/**
 * Why a run that rested goes on. The commit that carries the word moves it to `claimed` with this cause and without a
 * lease; whoever finds it then goes on with it, and nothing was interrupted: no attempt is counted.
 */
export type ResumeCause = "answered" | "resumed";
const resumeCauses: ReadonlySet<string | null> = new Set<ResumeCause>(["answered", "resumed"]);

export function isResumedByPerson({ state, cause }: Pick<RunRow, "state" | "cause">): boolean {
  return state === "claimed" && resumeCauses.has(cause);
}
