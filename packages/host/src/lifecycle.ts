import { type Clock, type Engine, type Store, systemClock } from "@holdfast/engine";
import { withTimeout } from "@holdfast/protocol";
import type { Mcp } from "./agent/mcp/mcp.ts";
import type { BackgroundWorker } from "./automation/workers.ts";
import type { Gateways } from "./gateway/gateways.ts";
import type { Role } from "./ops/config/operation-settings.ts";
import type { Logger } from "./ops/telemetry/logger.ts";

const pruneBatchSize = 500;
const pruneIntervalMs = 60_000;
/** Between two batches, so that no commit waits long behind them. */
const pruneBatchPauseMs = 50;

/** Deletes rows that nothing reads any more, in small batches. With nothing to delete it costs a few index reads. */
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

const workersStopTimeoutMs = 3_000;

/** The next host may have to mark a message that is still being sent as unknown. */
const gatewayStopTimeoutMs = 5_000;

const within = (ms: number) => ({ clock: systemClock, ms });

export interface Lifecycle {
  /** Starts the work. Nothing is written before. `address` is where people find the page. */
  readonly start: (address?: string) => void;
  /** Takes nothing new, stops the runs, lets followers see that, then closes the server and the store. */
  readonly stop: (closeServer?: () => Promise<void>) => Promise<void>;
}

export interface LifecycleDeps {
  readonly store: Store;
  readonly roles: ReadonlySet<Role>;
  readonly gateways: Pick<Gateways, "stop">;
  readonly mcp: Pick<Mcp, "start" | "stop">;
  readonly engine: Pick<Engine, "start" | "stop">;
  readonly workers: readonly BackgroundWorker[];
  /** Runs from the start on, and writes files in the home. */
  readonly sandboxTrial: Promise<void> | undefined;
  readonly telemetry: { close(): Promise<void> } | undefined;
  readonly logger: Logger;
  readonly stopping: AbortController;
  readonly closing: AbortController;
}

export function createLifecycle(deps: LifecycleDeps): Lifecycle {
  const { store, mcp, engine, workers, stopping, closing } = deps;
  let hasStarted = false;

  function start(address?: string): void {
    hasStarted = true;
    if (!deps.roles.has("runner")) return;
    // Before the queued runs: the first of them are given a moment for the servers.
    mcp.start();
    engine.start();
    for (const worker of workers) worker.start(address ?? null);
    void pruneRegularly(store, systemClock, stopping.signal);
  }

  async function stopWork(): Promise<void> {
    const workersStopped = Promise.all(workers.map((worker) => worker.stop()));
    await engine.stop();
    await mcp.stop();
    await withTimeout(within(workersStopTimeoutMs), () => workersStopped);
  }

  async function stop(closeServer: () => Promise<void> = async () => {}): Promise<void> {
    stopping.abort();
    await withTimeout(within(gatewayStopTimeoutMs), () => deps.gateways.stop());
    if (hasStarted) await stopWork();
    closing.abort();
    await closeServer();
    await store.close();
    await withTimeout(within(workersStopTimeoutMs), async () => deps.sandboxTrial);
    await deps.telemetry?.close();
    await deps.logger.flush();
  }

  return { start, stop };
}
