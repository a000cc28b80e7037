/** How many tokens a model takes, by its name. The rehearsal's is small, so that compaction can be tried out. */
const windows: ReadonlyMap<string, number> = new Map([["rehearsal", 32_000]]);

/** `null`: nobody knows; then the model itself has to say when it is too much. */
export function windowOf(model: string): number | null {
  return windows.get(model) ?? null;
}
