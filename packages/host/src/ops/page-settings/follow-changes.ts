import type { Store } from "@holdfast/engine";

interface Shared {
  /** Reads again, unless it was read within half a second. */
  readonly refresh: () => Promise<void>;
}

const pollMs = 1_000;
/** Where the store signals changes, polling finds only those whose signal was lost. */
const signalledPollMs = 30_000;
const settleMs = 600;

/** Settings and secrets that another process has stored are used here from then on. */
export function followChanges(
  { watchRegister }: Pick<Store, "watchRegister">,
  shared: readonly Shared[],
  stopping: AbortSignal,
): void {
  const refresh = (): void => shared.forEach((rows) => void rows.refresh());
  const poll = setInterval(refresh, watchRegister === undefined ? pollMs : signalledPollMs).unref();
  let settling: NodeJS.Timeout | undefined;
  // A little later: rows that were read a moment ago, perhaps before the change, would not be read again.
  const wake = (): void => void (settling ??= setTimeout(settle, settleMs).unref());
  function settle(): void {
    settling = undefined;
    refresh();
  }
  const unwatch = watchRegister?.(["setting", "secret"], wake);
  const end = (): void => {
    clearInterval(poll);
    clearTimeout(settling);
    unwatch?.();
  };
  stopping.addEventListener("abort", end, { once: true });
}
