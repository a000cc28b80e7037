import { type Log, type Runner, type Store, systemClock } from "@holdfast/engine";
import { ids, ownerId } from "@holdfast/protocol";
import type { Hosts } from "../hosts/hosts.ts";
import type { Config } from "../ops/config/settings.ts";
import type { Redact } from "../ops/secrets/redact.ts";
import type { Logger } from "../ops/telemetry/logger.ts";
import { createOrphanReaper } from "./delegate/orphan-reaper.ts";
import { openConfiguredNotifier } from "./notify/open-notifier.ts";
import type { SpendLimits } from "../ops/spending/spend-limits.ts";
import type { ProcessManager } from "./processes/process-manager.ts";
import { createWorktreeKeeper } from "../agent/worktrees/worktree-keeper.ts";
import type { Worktrees } from "../agent/worktrees/worktrees.ts";
import { createProcessWatcher } from "./processes/process-watcher.ts";
import { openScheduler } from "./schedules/scheduler.ts";

export interface BackgroundWorker {
  /** `address` is where people find the page; null where there is none. */
  start(address: string | null): void;
  stop(): Promise<unknown>;
}

export interface WorkerDeps {
  readonly config: Config;
  readonly store: Store;
  readonly log: Log;
  readonly runner: Pick<Runner, "notify">;
  readonly processes: ProcessManager;
  readonly hosts: Pick<Hosts, "find"> | undefined;
  readonly worktrees: Pick<Worktrees, "recover">;
  readonly spendLimits: SpendLimits;
  readonly redact: Redact;
  readonly logger: Logger;
  readonly report: (bug: Error) => void;
}

/** What a host does without being asked: notices, schedules, ending orphans, watching background commands. */
export async function createWorkers({
  config,
  store,
  log,
  runner,
  processes,
  hosts,
  worktrees,
  spendLimits,
  redact,
  logger,
  report,
}: WorkerDeps): Promise<readonly BackgroundWorker[]> {
  const shared = { log, ids, clock: systemClock, owner: ownerId.parse("owner"), runner, report };
  const notifier = await openConfiguredNotifier(config, store, redact, logger);
  return [
    ...(notifier === undefined ? [] : [notifier]),
    openScheduler(log, runner, report, spendLimits, config.sessionMode.value),
    createOrphanReaper(shared),
    createWorktreeKeeper({ worktrees, clock: systemClock, report }),
    createProcessWatcher({
      ...shared,
      manager: processes,
      hosts,
      reports: config.processReports.value,
      turnsInARow: config.processTurns.value,
    }),
  ];
}
