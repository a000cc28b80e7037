import { readdir, rm } from "node:fs/promises";

import { admitMessage, type Clock, type Log, type Runner, StoreFailure } from "@holdfast/engine";
import { type IdSource, laneKey, newEvent, type OwnerId, processId } from "@holdfast/protocol";

import { idsFrom } from "../../util/deterministic-ids.ts";
import type { ProcessDesk } from "./process-manager.ts";
import type { ProcessEnd } from "./process-folder.ts";
import type { KeptProcess } from "./process-store.ts";
import { howToTell, reportKey } from "./turns-in-a-row.ts";
import { reportOf, restText } from "./end-report.ts";

export interface ProcessWatchParts {
  readonly log: Log;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly owner: OwnerId;
  readonly desk: ProcessDesk;
  readonly runner: Pick<Runner, "poke">;
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
const forgottenMs = 600_000;
const tidyMs = 3_600_000;

/**
 * Looks after background processes: sees their ends, ends those that are to end, and tells their sessions. P11: the process
 * names the message about its end, and the store takes a name once; so whichever host looks, and wherever one is killed,
 * each end is told once.
 */
export function createProcessWatch(parts: ProcessWatchParts) {
  const { clock, desk, owner } = parts;
  const stopping = new AbortController();
  const { signal } = stopping;
  let working: Promise<void> = Promise.resolve();

  /** Resolves to whether something of this home still runs. */
  async function look(): Promise<boolean> {
    const place = await desk.place();
    let isBusy = false;
    for (const found of await desk.kept.list(owner)) {
      if (signal.aborted || found.process.told !== null) continue;
      const left = await tend(parts, found);
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
          await removeOthers(desk, owner);
          tidyAt = clock.now() + tidyMs;
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

async function tend(parts: ProcessWatchParts, found: KeptProcess): Promise<"running" | "over"> {
  const { desk, log, owner } = parts;
  const { process } = found;
  if (process.end !== null) {
    await tell(parts, found, process.end);
    return "over";
  }
  const now = await log.store.now();
  const seen = await desk.look(process);
  if (seen.kind === "elsewhere") {
    const isForgotten = now > process.startedAt + process.timeLimitMs + forgottenMs;
    if (!isForgotten) return "running";
    return end(parts, found, { kind: "lost" }, now);
  }
  if (seen.kind === "ended") return end(parts, found, seen.end, now);
  desk.remind(process, seen, now);
  const session = await log.store.reads.session(owner, process.session);
  if (process.stop !== null) await desk.stop(owner, null, process.id);
  else if (session === null || session.trashedAt !== null)
    await desk.stop(owner, null, process.id, "session");
  return "running";
}

/** First what became of it stands in the register, then it is told: whoever dies between the two, the next one tells it. */
async function end(
  parts: ProcessWatchParts,
  found: KeptProcess,
  how: ProcessEnd,
  endedAt: number,
): Promise<"over"> {
  const { owner, reports, turnsInARow } = parts;
  const { reads } = parts.log.store;
  const tells =
    reports === "notice" ? reports : await howToTell(reads, owner, found.process, turnsInARow);
  const process = { ...found.process, end: how, endedAt, tells };
  if (await parts.desk.kept.change({ ...found, process }))
    await tell(parts, { ...found, process, revision: found.revision + 1 }, how);
  return "over";
}

async function tell(parts: ProcessWatchParts, found: KeptProcess, how: ProcessEnd): Promise<void> {
  const { process } = found;
  const isWanted = process.stop !== null && how.kind === "stopped";
  const told = isWanted ? "silent" : await say(parts, found, how);
  if (told !== null) await parts.desk.kept.change({ ...found, process: { ...process, told } });
}

/** `null`: the store could not be asked. Otherwise what became of it, for good. */
async function say(
  { log, ids, owner, runner, reports, turnsInARow }: ProcessWatchParts,
  { process }: KeptProcess,
  how: ProcessEnd,
): Promise<string | null> {
  const { session, id, lane } = process;
  const key = reportKey(id);
  const text = reportOf(process, how);
  if ((process.tells ?? reports) === "notice") {
    const own = idsFrom(key);
    const words = reports === "notice" ? text : `${text} ${restText(turnsInARow)}`;
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
  runner.poke(owner, session);
  return "accepted";
}

/** Files of processes whose place in the register was given to others. */
async function removeOthers(desk: ProcessDesk, owner: OwnerId): Promise<void> {
  // The folders first: one whose folder is there has had its place since before, so that none is taken from what just starts.
  const names = await readdir(desk.parentFolder).catch(() => []);
  const known = new Set((await desk.kept.list(owner)).map(({ process }) => process.id));
  // A store that knows of none may be another one than they were started with.
  if (known.size === 0) return;
  for (const name of names) {
    const id = processId.safeParse(name);
    if (id.success && !known.has(id.data))
      await rm(desk.folderOf(id.data), { recursive: true, force: true });
  }
}
