import { type RunState, terminalStates } from "@holdfast/protocol";

/**
 * The run as a program counter: where each state may go. `claimed` is also where a take-over puts a run that had
 * come further; what it then does is read from the log.
 */
const ends: readonly RunState[] = [...terminalStates];
const moves: Record<RunState, readonly RunState[]> = {
  queued: ["claimed", ...ends],
  claimed: ["claimed", "running", "paused", ...ends],
  running: ["claimed", "running", "waiting", "paused", ...ends],
  waiting: ["claimed", "paused", ...ends],
  paused: ["claimed", ...ends],
  completed: [],
  cancelled: [],
  failed: [],
  interrupted: [],
  limit: [],
};

/** P4: a run that has ended goes nowhere. */
export function mayMove(from: RunState | undefined, to: RunState): boolean {
  return from === undefined ? to === "queued" || to === "claimed" : moves[from].includes(to);
}
