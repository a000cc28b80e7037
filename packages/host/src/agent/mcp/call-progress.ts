import type { Clock } from "@holdfast/engine";

interface Progress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

export interface ProgressWriter {
  add(progress: Progress): void;
  /** Shows the newest one, if it has not been shown. */
  end(): void;
}

/** A server may report thousands of steps a second; people read some of them. */
const intervalMs = 250;
const maxMessageLength = 300;

/** Shows a call's progress while it runs: at once, then at most every quarter of a second, the newest each time. */
export function createProgressWriter(
  write: (text: string) => void,
  clock: Clock,
  signal: AbortSignal,
): ProgressWriter {
  let shownAt = Number.NEGATIVE_INFINITY;
  let newest: string | null = null;
  let isScheduled = false;

  async function showLater(waitMs: number): Promise<void> {
    isScheduled = true;
    await clock.sleep(waitMs, signal);
    isScheduled = false;
    if (!signal.aborted) show();
  }

  function show(): void {
    if (newest === null) return;
    shownAt = clock.now();
    write(newest);
    newest = null;
  }

  return {
    add(progress) {
      newest = describe(progress);
      const waitMs = shownAt + intervalMs - clock.now();
      if (waitMs <= 0) return show();
      if (!isScheduled) void showLater(waitMs);
    },
    end: show,
  };
}

function describe({ progress, total, message }: Progress): string {
  const amount = total === undefined ? `${progress}` : `${progress} of ${total}`;
  if (message === undefined) return `${amount}\n`;
  const words = message.slice(0, maxMessageLength).toWellFormed().replaceAll(/\s+/g, " ").trim();
  return `${amount}: ${words}\n`;
}
