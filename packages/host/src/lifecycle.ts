import {
  type Clock,
  type Store,
  type MemoryCommitter,
  type Runner,
  systemClock,
} from "@holdfast/engine";
import type { Role } from "./ops/config/operation-settings.ts";
import type { Gateways } from "./gateway/gateways.ts";
import type { Mcp } from "./agent/mcp/mcp.ts";
import type { Notifier } from "./automation/notify/notifier.ts";
import type { Logger } from "./ops/telemetry/logger.ts";

const pruneBatchSize = 500;
const pruneIntervalMs = 60_000;
/** Between two batches, so that nobody waits long behind them. */
const pruneBatchPauseMs = 50;

/**
 * Deletes what nothing needs any more, little by little. Where there is nothing, nothing is written: a look costs a few
 * index reads.
 */
export async function pruneRegularly(
  store: Store,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(pruneIntervalMs, signal);
    if (signal.aborted) return;
    const result = await store.prune(pruneBatchSize);
    if (result.status === "pruned" && result.rows === pruneBatchSize)
      await pruneRemaining(store, clock, signal);
  }
}

async function pruneRemaining(store: Store, clock: Clock, signal: AbortSignal): Promise<void> {
  for (;;) {
    await clock.sleep(pruneBatchPauseMs, signal);
    if (signal.aborted) return;
    const result = await store.prune(pruneBatchSize);
    if (result.status !== "pruned" || result.rows < pruneBatchSize) return;
  }
}

/** A run that does not let go in time is taken over by the next host that looks. */
const runnerStopTimeoutMs = 3_000;

/** What is on its way to a chat by then may be marked as unknown by the next host. */
const gatewayStopTimeoutMs = 5_000;

/** What is not committed by then stands in the store for the next host. */
const memoryDrainTimeoutMs = 10_000;

/** How a host takes up its work, and lets go of it. */
export interface Lifecycle {
  /** Takes up work. Before that nothing of the store is touched. `address`: where people find the page. */
  readonly start: (address?: string) => void;
  /** Nothing new is taken, the runs are let go of, whoever watches has seen that, and then the store is closed. */
  readonly stop: (closeDoor?: () => Promise<void>) => Promise<void>;
}

interface BackgroundWorker {
  start(): void;
  stop(): Promise<unknown>;
}

export interface LifecycleDeps {
  readonly store: Store;
  readonly roles: ReadonlySet<Role>;
  readonly gateways: Pick<Gateways, "stop">;
  readonly mcp: Mcp;
  readonly runner: Runner;
  readonly titles: BackgroundWorker;
  /** Who says prompts at their times. */
  readonly scheduler: BackgroundWorker;
  /** Who ends children whose parents have ended. */
  readonly children: BackgroundWorker;
  /** Who looks after background processes. They go on when the host stops. */
  readonly processes: BackgroundWorker;
  readonly memory: MemoryCommitter;
  readonly reviews: Pick<BackgroundWorker, "stop">;
  readonly notifier: Notifier | undefined;
  readonly telemetry: { close(): Promise<void> } | undefined;
  readonly logger: Logger;
  readonly stopping: AbortController;
  readonly closing: AbortController;
}

export function createLifecycle(parts: LifecycleDeps): Lifecycle {
  const { store, mcp, runner, titles, memory, reviews, stopping, closing } = parts;
  let hasBegun = false;

  function begin(address?: string): void {
    hasBegun = true;
    if (!parts.roles.has("runner")) return;
    // Before the runs that wait: the first of them are given a moment for the servers.
    mcp.start();
    runner.start();
    titles.start();
    memory.start();
    parts.notifier?.start(address ?? null);
    parts.scheduler.start();
    parts.children.start();
    parts.processes.start();
    void pruneRegularly(store, systemClock, stopping.signal);
  }

  async function letGo(): Promise<void> {
    const notified = Promise.all([
      parts.notifier?.stop(),
      parts.scheduler.stop(),
      parts.children.stop(),
      parts.processes.stop(),
    ]);
    await waitAtMost(
      runnerStopTimeoutMs,
      Promise.all([runner.stop(), titles.stop(), reviews.stop()]),
    );
    await mcp.stop();
    await memory.drain(memoryDrainTimeoutMs);
    await waitAtMost(runnerStopTimeoutMs, Promise.all([memory.stop(), notified]));
  }

  async function stop(closeDoor: () => Promise<void> = async () => {}): Promise<void> {
    stopping.abort();
    await waitAtMost(gatewayStopTimeoutMs, parts.gateways.stop());
    if (hasBegun) await letGo();
    closing.abort();
    await closeDoor();
    await store.close();
    await parts.telemetry?.close();
    await parts.logger.flush();
  }

  return { start: begin, stop };
}

async function waitAtMost(ms: number, work: Promise<unknown>): Promise<void> {
  const finished = new AbortController();
  await Promise.race([work, systemClock.sleep(ms, finished.signal)]);
  finished.abort();
}
