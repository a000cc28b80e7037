import { readdir, rm } from "node:fs/promises";

import { admitMessage, type Clock, type Log, type Runner, StoreFailure } from "@holdfast/engine";
import { type IdSource, laneKey, newEvent, type OwnerId, processId } from "@holdfast/protocol";

import type { Hosts } from "../../hosts/hosts.ts";
import { deterministicIds } from "../../util/deterministic-ids.ts";
import type { ProcessManager } from "./process-manager.ts";
import type { ProcessEnd } from "./process-folder.ts";
import type { StoredProcess } from "./process-store.ts";
import { reportKindFor, reportKey, endReportText, turnLimitText } from "./end-report.ts";

export interface ProcessWatcherDeps {
  readonly log: Log;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly owner: OwnerId;
  readonly manager: ProcessManager;
  readonly runner: Pick<Runner, "notify">;
  /** Whether an end starts a turn, or is only shown to people. */
  readonly reports: "turn" | "notice";
  /** How many turns in a row process ends may start without a person's message. */
  readonly turnsInARow: number;
  /** Absent where no other host shares the store. */
  readonly hosts?: Pick<Hosts, "find"> | undefined;
  /** How long a host is silent before its processes count as lost. */
  readonly silentMs?: number;
  readonly report: (bug: Error) => void;
}

/**
 * Poll intervals while something runs here, and otherwise: requests of other hosts arrive through the register
 * alone.
 */
const busyMs = 500;
const idleMs = 5_000;
/** A host that has reported nothing this long after its process's time limit is gone. */
const abandonedMs = 600_000;
/** A host that restarts finds its processes running, so others leave it time for that. */
const defaultSilentMs = 600_000;
const cleanupMs = 3_600_000;

/**
 * Watches background processes: detects their ends, stops those that are to stop, and reports to their sessions.
 * P11: the process names the message about its end, and the store accepts a name once, so each end is reported
 * once, whichever hosts look and wherever one is killed.
 */
export function createProcessWatcher(deps: ProcessWatcherDeps) {
  const { clock, manager, owner } = deps;
  const stopping = new AbortController();
  const { signal } = stopping;
  let working: Promise<void> = Promise.resolve();

  /** Resolves to whether a process of this home still runs. */
  async function checkAll(): Promise<boolean> {
    const homeId = await manager.homeId();
    let isBusy = false;
    for (const found of await manager.store.list(owner)) {
      if (signal.aborted || found.process.told !== null) continue;
      const outcome = await checkProcess(deps, found);
      isBusy ||= outcome === "running" && found.process.place === homeId;
    }
    return isBusy;
  }

  async function loop(): Promise<void> {
    let nextCleanupAt = clock.now();
    while (!signal.aborted) {
      let isBusy = false;
      try {
        isBusy = await checkAll();
        if (clock.now() >= nextCleanupAt) {
          await removeStaleFolders(manager, owner);
          nextCleanupAt = clock.now() + cleanupMs;
        }
      } catch (error) {
        // Store outages are reported elsewhere.
        if (!(error instanceof StoreFailure))
          deps.report(error instanceof Error ? error : new Error(String(error)));
      }
      await clock.sleep(isBusy ? busyMs : idleMs, signal);
    }
  }

  return {
    checkAll,
    start(): void {
      working = loop();
    },
    async stop(): Promise<void> {
      stopping.abort();
      await working;
    },
  };
}

async function checkProcess(
  deps: ProcessWatcherDeps,
  found: StoredProcess,
): Promise<"running" | "over"> {
  const { manager, log, owner } = deps;
  const { process } = found;
  if (process.end !== null) {
    await reportEnd(deps, found, process.end);
    return "over";
  }
  const now = await log.store.now();
  const state = await manager.stateOf(process);
  if (state.kind === "elsewhere") {
    const isAbandoned = now > process.startedAt + process.timeLimitMs + abandonedMs;
    if (!isAbandoned && !(await isSilent(deps, process.place, now))) return "running";
    return recordEnd(deps, found, { kind: "lost" }, now);
  }
  if (state.kind === "ended") return recordEnd(deps, found, state.end, now);
  manager.enforceTimeLimit(process, state, now);
  const session = await log.store.reads.session(owner, process.session);
  if (process.stop !== null) await manager.stop(owner, null, process.id);
  else if (session === null || session.trashedAt !== null)
    await manager.stop(owner, null, process.id, "session");
  return "running";
}

/** A host that this one has never heard of may be of an earlier version. */
async function isSilent(
  { hosts, silentMs = defaultSilentMs }: ProcessWatcherDeps,
  place: string,
  now: number,
): Promise<boolean> {
  const host = await hosts?.find(place);
  return host != null && !host.isUp && now > host.seenAt + silentMs;
}

/** Records the end before reporting it: if this host dies in between, the next one reports it. */
async function recordEnd(
  deps: ProcessWatcherDeps,
  found: StoredProcess,
  end: ProcessEnd,
  endedAt: number,
): Promise<"over"> {
  const { owner, reports, turnsInARow } = deps;
  const { reads } = deps.log.store;
  const tells =
    reports === "notice" ? reports : await reportKindFor(reads, owner, found.process, turnsInARow);
  const process = { ...found.process, end, endedAt, tells };
  if (await deps.manager.store.change({ ...found, process }))
    await reportEnd(deps, { ...found, process, revision: found.revision + 1 }, end);
  return "over";
}

async function reportEnd(
  deps: ProcessWatcherDeps,
  found: StoredProcess,
  end: ProcessEnd,
): Promise<void> {
  const { process } = found;
  const isRequested = process.stop !== null && end.kind === "stopped";
  const told = isRequested ? "silent" : await submitReport(deps, found, end);
  if (told !== null) await deps.manager.store.change({ ...found, process: { ...process, told } });
}

/** `null`: the store failed. Otherwise the final outcome. */
async function submitReport(
  { log, ids, owner, runner, reports, turnsInARow }: ProcessWatcherDeps,
  { process }: StoredProcess,
  end: ProcessEnd,
): Promise<string | null> {
  const { session, id, lane, rights } = process;
  const key = reportKey(id);
  const text = endReportText(process, end);
  if ((process.tells ?? reports) === "notice") {
    const noticeIds = deterministicIds(key);
    const noticeText = reports === "notice" ? text : `${text} ${turnLimitText(turnsInARow)}`;
    const notice = { noticeId: noticeIds.make("notice"), kind: "process_ended", text: noticeText };
    const events = [newEvent(noticeIds.make("event"), "notice.added", notice)];
    const result = await log.commit({ owner, session, events });
    return result.status === "failed" ? null : result.status;
  }
  const admission = await admitMessage(log, ids, {
    owner,
    session,
    clientId: key,
    text,
    ...(rights && { rights }),
    ...(lane === null ? { lane: laneKey.parse(key) } : { lane, inbound: { key } }),
  });
  if (admission.status === "failed") return null;
  if (admission.status === "refused") return admission.code;
  runner.notify(owner, session);
  return "accepted";
}

/** Removes the files of processes whose slots were reused. */
async function removeStaleFolders(manager: ProcessManager, owner: OwnerId): Promise<void> {
  // Folders are read first: a folder seen here was registered before, so none is taken from a process that is just
  // starting.
  const names = await readdir(manager.parentFolder).catch(() => []);
  const known = new Set((await manager.store.list(owner)).map(({ process }) => process.id));
  // A store that knows no processes may not be the one they were started with.
  if (known.size === 0) return;
  for (const name of names) {
    const id = processId.safeParse(name);
    if (id.success && !known.has(id.data))
      await rm(manager.folderOf(id.data), { recursive: true, force: true });
  }
}
