import { readdir, rm } from "node:fs/promises";

import { admitMessage, type Clock, type Log, type Runner, StoreFailure } from "@holdfast/engine";
import { type IdSource, laneKey, newEvent, type OwnerId, processId } from "@holdfast/protocol";

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
  /** Whether an end begins a turn, or is only shown to people. */
  readonly reports: "turn" | "notice";
  /** How many turns in a row ends may begin with nobody saying anything. */
  readonly turnsInARow: number;
  readonly report: (bug: Error) => void;
}

/** While something runs here, and otherwise: what others ask of this host is found in the register alone. */
const busyMs = 500;
const idleMs = 5_000;
/** A host that has said nothing so long after its process had to be over is gone. */
const abandonedMs = 600_000;
const cleanupMs = 3_600_000;

/**
 * Looks after background processes: sees their ends, ends those that are to end, and tells their sessions. P11: the process
 * names the message about its end, and the store takes a name once; so whichever host looks, and wherever one is killed,
 * each end is told once.
 */
export function createProcessWatcher(parts: ProcessWatcherDeps) {
  const { clock, manager: desk, owner } = parts;
  const stopping = new AbortController();
  const { signal } = stopping;
  let working: Promise<void> = Promise.resolve();

  /** Resolves to whether something of this home still runs. */
  async function look(): Promise<boolean> {
    const place = await desk.homeId();
    let isBusy = false;
    for (const found of await desk.store.list(owner)) {
      if (signal.aborted || found.process.told !== null) continue;
      const left = await checkProcess(parts, found);
      isBusy ||= left === "running" && found.process.place === place;
    }
    return isBusy;
  }

  async function work(): Promise<void> {
    let tidyAt = clock.now();
    while (!signal.aborted) {
      let isBusy = false;
      try {
        isBusy = await look();
        if (clock.now() >= tidyAt) {
          await removeStaleFolders(desk, owner);
          tidyAt = clock.now() + cleanupMs;
        }
      } catch (error) {
        // That the store is away is told by who watches it.
        if (!(error instanceof StoreFailure))
          parts.report(error instanceof Error ? error : new Error(String(error)));
      }
      await clock.sleep(isBusy ? busyMs : idleMs, signal);
    }
  }

  return {
    look,
    start(): void {
      working = work();
    },
    async stop(): Promise<void> {
      stopping.abort();
      await working;
    },
  };
}

async function checkProcess(
  parts: ProcessWatcherDeps,
  found: StoredProcess,
): Promise<"running" | "over"> {
  const { manager: desk, log, owner } = parts;
  const { process } = found;
  if (process.end !== null) {
    await reportEnd(parts, found, process.end);
    return "over";
  }
  const now = await log.store.now();
  const seen = await desk.stateOf(process);
  if (seen.kind === "elsewhere") {
    const isForgotten = now > process.startedAt + process.timeLimitMs + abandonedMs;
    if (!isForgotten) return "running";
    return recordEnd(parts, found, { kind: "lost" }, now);
  }
  if (seen.kind === "ended") return recordEnd(parts, found, seen.end, now);
  desk.enforceTimeLimit(process, seen, now);
  const session = await log.store.reads.session(owner, process.session);
  if (process.stop !== null) await desk.stop(owner, null, process.id);
  else if (session === null || session.trashedAt !== null)
    await desk.stop(owner, null, process.id, "session");
  return "running";
}

/** First what became of it stands in the register, then it is told: whoever dies between the two, the next one tells it. */
async function recordEnd(
  parts: ProcessWatcherDeps,
  found: StoredProcess,
  how: ProcessEnd,
  endedAt: number,
): Promise<"over"> {
  const { owner, reports, turnsInARow } = parts;
  const { reads } = parts.log.store;
  const tells =
    reports === "notice" ? reports : await reportKindFor(reads, owner, found.process, turnsInARow);
  const process = { ...found.process, end: how, endedAt, tells };
  if (await parts.manager.store.change({ ...found, process }))
    await reportEnd(parts, { ...found, process, revision: found.revision + 1 }, how);
  return "over";
}

async function reportEnd(
  parts: ProcessWatcherDeps,
  found: StoredProcess,
  how: ProcessEnd,
): Promise<void> {
  const { process } = found;
  const isWanted = process.stop !== null && how.kind === "stopped";
  const told = isWanted ? "silent" : await submitReport(parts, found, how);
  if (told !== null) await parts.manager.store.change({ ...found, process: { ...process, told } });
}

/** `null`: the store could not be asked. Otherwise what became of it, for good. */
async function submitReport(
  { log, ids, owner, runner, reports, turnsInARow }: ProcessWatcherDeps,
  { process }: StoredProcess,
  how: ProcessEnd,
): Promise<string | null> {
  const { session, id, lane } = process;
  const key = reportKey(id);
  const text = endReportText(process, how);
  if ((process.tells ?? reports) === "notice") {
    const own = deterministicIds(key);
    const words = reports === "notice" ? text : `${text} ${turnLimitText(turnsInARow)}`;
    const notice = { noticeId: own.make("notice"), kind: "process_ended", text: words };
    const events = [newEvent(own.make("event"), "notice.added", notice)];
    const result = await log.commit({ owner, session, events });
    return result.status === "failed" ? null : result.status;
  }
  const admission = await admitMessage(log, ids, {
    owner,
    session,
    clientId: key,
    text,
    ...(lane === null ? { lane: laneKey.parse(key) } : { lane, inbound: { key } }),
  });
  if (admission.status === "failed") return null;
  if (admission.status === "refused") return admission.code;
  runner.notify(owner, session);
  return "accepted";
}

/** Files of processes whose place in the register was given to others. */
async function removeStaleFolders(desk: ProcessManager, owner: OwnerId): Promise<void> {
  // The folders first: one whose folder is there has had its place since before, so that none is taken from what just starts.
  const names = await readdir(desk.parentFolder).catch(() => []);
  const known = new Set((await desk.store.list(owner)).map(({ process }) => process.id));
  // A store that knows of none may be another one than they were started with.
  if (known.size === 0) return;
  for (const name of names) {
    const id = processId.safeParse(name);
    if (id.success && !known.has(id.data))
      await rm(desk.folderOf(id.data), { recursive: true, force: true });
  }
}
