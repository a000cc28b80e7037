/** The groups that this process has started and not seen the end of. */
const leaders = new Set<number>();

/** Should this process end without a word, its servers end with it. */
export function trackGroup(leader: number): void {
  if (leaders.size === 0) process.once("exit", endAll);
  leaders.add(leader);
}

export function untrackGroup(leader: number): void {
  leaders.delete(leader);
  if (leaders.size === 0) process.removeListener("exit", endAll);
}

/** A group that is gone already is no error. */
export function signalGroup(leader: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-leader, signal);
  } catch {
    // Nothing is left of it, or nothing that is ours.
  }
}

function endAll(): void {
  for (const leader of leaders) signalGroup(leader, "SIGKILL");
}
