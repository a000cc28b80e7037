import {
  type SpillState,
  type Clock,
  type Failed,
  type Store,
  StoreFailure,
  type FailureCode,
} from "@holdfast/engine";
import { type SessionId, type StreamStatus, ownerId } from "@holdfast/protocol";
import type { Health } from "../../server/http/http-app.ts";
import type { OpenedStore } from "../../open-store.ts";
import type { Logger } from "../telemetry/logger.ts";
import { createHealthCheck } from "./health.ts";
import { createLossReporter, type LossReporter } from "./lost-events.ts";

/** Where the output of this process's runs goes, for live viewers. Nothing of this status is durable. */
export interface StorageStatus {
  readonly publish: (session: SessionId, storing: SpillState) => void;
  /** Passes on the current status, if it is not the normal one, and every later change. */
  readonly subscribe: (session: SessionId, listener: (status: StreamStatus) => void) => () => void;
}

const statusTexts: Record<SpillState, { readonly code: string; readonly text?: string }> = {
  local: {
    code: "storing_locally",
    text: "Storing locally: the database does not answer.",
  },
  stopped: {
    code: "storing_stopped",
    text: "Neither the database nor the disk here takes the answer. It was stopped.",
  },
  left: {
    code: "kept_locally",
    text: "The database does not answer. What was said is kept here and comes back with it.",
  },
  restored: { code: "stored_again" },
};

export function createStorageStatus(): StorageStatus {
  const current = new Map<SessionId, SpillState>();
  const listeners = new Map<SessionId, Set<(status: StreamStatus) => void>>();
  const statusOf = (session: SessionId, storing: SpillState): StreamStatus => ({
    ...statusTexts[storing],
    sessionId: session,
  });
  return {
    publish(session, storing) {
      const isNews =
        storing === "restored" ? current.delete(session) : current.set(session, storing);
      if (isNews === false) return;
      for (const listener of listeners.get(session) ?? []) listener(statusOf(session, storing));
    },
    subscribe(session, listener) {
      const watching = listeners.get(session) ?? new Set();
      listeners.set(session, watching.add(listener));
      const now = current.get(session);
      if (now !== undefined) listener(statusOf(session, now));
      return () => {
        watching.delete(listener);
        if (watching.size === 0) listeners.delete(session);
      };
    },
  };
}

/** Whether the store's writes succeed, for health checks. */
export interface WriteHealth {
  /** Records a failed write. */
  readonly noteFailure: (failure: Failed) => void;
  /**
   * Why writes fail, or nothing if they succeed. While they fail, each check first tries a write of its own: one at a
   * time, and at most one a second.
   */
  failure(): Promise<Failed | undefined>;
}

export interface WriteHealthDeps {
  readonly clock: Clock;
  /** Called when writes begin to fail. */
  readonly onFailure: (failure: StoreFailure) => void;
}

const probeIntervalMs = 1_000;

/**
 * A row that belongs to no person; nobody reads it, and each probe overwrites it. It is as large as a row may be,
 * because a nearly full disk still takes a lease or a title long after it refuses a message.
 */
const probe = {
  owner: ownerId.parse("holdfast:host"),
  key: "write-probe",
  value: JSON.stringify("…".repeat(15_000)),
};

export function createWriteHealth(
  { register }: Pick<Store, "register">,
  { clock, onFailure }: WriteHealthDeps,
): WriteHealth {
  let currentFailure: Failed | undefined;
  let tried: { readonly at: number; readonly end: Promise<void> } | undefined;

  function noteFailure(failure: Failed): void {
    // A stopping host closes its store, which is not a failure.
    if (failure.code === "store_closed") return;
    const isNews = currentFailure === undefined;
    currentFailure = failure;
    if (isNews) onFailure(new StoreFailure(failure.code, failure.message));
  }

  async function tryOne(): Promise<void> {
    try {
      const row = await register.read(probe.owner, probe.key);
      const end = await register.put({ ...probe, expect: row?.revision ?? 0 });
      if (end.status === "failed") noteFailure(end);
      // `moved`: another host was faster, perhaps on another disk, so only the next try can tell.
      else if (end.status === "put") currentFailure = undefined;
    } catch {
      // Readers report read failures themselves.
    }
  }

  return {
    noteFailure,
    async failure() {
      if (currentFailure === undefined) return undefined;
      if (tried === undefined || clock.now() - tried.at >= probeIntervalMs)
        tried = { at: clock.now(), end: tryOne() };
      await tried.end;
      return currentFailure;
    },
  };
}

/** The codes of an outage. Other failures are reported unchanged. */
const outageCodes: ReadonlySet<FailureCode> = new Set([
  "store_unavailable",
  "store_busy",
  "store_unknown",
  "store_full",
  "store_unwritable",
]);

/** Outages during which reads still work. */
const readOnlyCodes: ReadonlySet<FailureCode> = new Set(["store_full", "store_unwritable"]);

const pollMs = 1_000;

export interface OutageReporterDeps {
  /** Whether the store can be read and written. */
  readonly isHealthy: () => Promise<boolean>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly stopping: AbortSignal;
}

/**
 * Reports errors. For an outage of the store it logs one line at the start and one at the end, however many requests
 * failed meanwhile.
 */
export function createOutageReporter({
  isHealthy,
  clock,
  logger,
  stopping,
}: OutageReporterDeps): (bug: Error) => void {
  let isAway = false;

  async function untilBack(): Promise<void> {
    const since = clock.now();
    while (!stopping.aborted) {
      await clock.sleep(pollMs, stopping);
      if (!(await isHealthy())) continue;
      isAway = false;
      logger.warn("The store answers again.", {
        seconds: Math.round((clock.now() - since) / 1000),
      });
      return;
    }
  }

  return (bug) => {
    if (!(bug instanceof StoreFailure) || !outageCodes.has(bug.code)) return logger.report(bug);
    if (isAway || stopping.aborted) return;
    isAway = true;
    logger.warn(
      readOnlyCodes.has(bug.code)
        ? "The store takes no writes. What it holds can be read; runs wait."
        : "The store does not answer. Runs go on where they can, and wait where they cannot.",
      {
        code: bug.code,
        reason: bug.message,
      },
    );
    void untilBack();
  };
}

export interface StoreMonitor {
  /** Tells people what the database has lost. */
  readonly onLost: LossReporter["report"];
  readonly report: (bug: Error) => void;
  readonly health: () => Promise<Health>;
}

export interface MonitorDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly stopping: AbortSignal;
  readonly roles: readonly string[];
}

/** Detects when a store's writes fail, reports outages, and gives the host's health. */
export async function monitorStore(
  { store, onWriteFailed }: OpenedStore,
  { clock, logger, stopping, roles }: MonitorDeps,
): Promise<StoreMonitor> {
  const losses = await createLossReporter({ store, now: Date.now, logger });
  const isHealthy = async (): Promise<boolean> => (await health()).store.ready;
  const report = createOutageReporter({ isHealthy, clock, logger, stopping });
  const writes = createWriteHealth(store, { clock, onFailure: report });
  onWriteFailed(writes.noteFailure);
  const health = createHealthCheck({ store, writes, clock, stopping, roles, losses });
  return { report, health, onLost: losses.report };
}
