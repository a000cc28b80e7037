const sharedListeners = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back when the signal is aborted, at once if it has been. Thousands may hang on one signal: its own listeners are searched
 * through with each that comes and goes, so it gets only one for all of them.
 */
export function shareAbortListener(signal: AbortSignal, then: () => void): () => void {
  if (signal.aborted) {
    then();
    return () => {};
  }
  const all = sharedListeners.get(signal) ?? new Set();
  if (!sharedListeners.has(signal)) {
    sharedListeners.set(signal, all);
    signal.addEventListener("abort", () => all.forEach((each) => each()), { once: true });
  }
  all.add(then);
  return () => void all.delete(then);
}
