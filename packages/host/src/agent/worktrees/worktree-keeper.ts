import type { Clock } from "@holdfast/engine";

import { staleLockMs } from "../../util/atomic-file.ts";
import type { Worktrees } from "./worktrees.ts";

const pollMs = 3_600_000;

/** Finishes what a killed host left, when a host starts, once its locks are stale, and each hour. */
export function createWorktreeKeeper({
  worktrees,
  clock,
  report,
}: {
  readonly worktrees: Pick<Worktrees, "recover">;
  readonly clock: Clock;
  readonly report: (bug: Error) => void;
}) {
  const stopping = new AbortController();
  const { signal } = stopping;
  let working: Promise<void> = Promise.resolve();

  async function loop(): Promise<void> {
    let pauseMs = staleLockMs + 1_000;
    while (!signal.aborted) {
      try {
        await worktrees.recover();
      } catch (error) {
        report(error instanceof Error ? error : new Error(String(error)));
      }
      await clock.sleep(pauseMs, signal);
      pauseMs = pollMs;
    }
  }

  return {
    start(): void {
      working = loop();
    },
    async stop(): Promise<void> {
      stopping.abort();
      await working;
    },
  };
}
