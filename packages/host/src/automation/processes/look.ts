import { stat } from "node:fs/promises";
import { join } from "node:path";

import type { Holder, Liveness } from "@holdfast/engine";

import {
  heartbeatMs,
  startWithinMs,
  type StartRecord,
  fileNames,
  type ProcessEnd,
  readStartRecord,
  readEnd,
} from "./process-folder.ts";
import type { ProcessRecord } from "./process-store.ts";

export type ProcessState =
  | { readonly kind: "running"; readonly begun: StartRecord }
  /** Its host is about to start it. */
  | { readonly kind: "starting" }
  | { readonly kind: "ended"; readonly end: ProcessEnd };

/** So long nobody has minded it, where it cannot be proven that somebody does. */
const heartbeatTimeoutMs = 12 * heartbeatMs;

/**
 * How a process stands, by what its files say and by who is alive. An end is what who minded it has written down; without
 * one, and with nobody left who could write it, the process is lost, and that is said and nothing else.
 */
export async function readProcessState(
  folder: string,
  process: Pick<ProcessRecord, "by">,
  liveness: Liveness,
): Promise<ProcessState> {
  const age = await specAge(folder);
  const isYoung = age !== null && age < startWithinMs + heartbeatMs;
  const first = await readEnd(folder);
  // P11: that it could not be started is the word of the call, as long as there is somebody who says it.
  const isForCall = isYoung && first?.kind === "not_started";
  if (isForCall && liveness.isDead(process.by) === "alive") return { kind: "starting" };
  if (first !== null) return { kind: "ended", end: first };
  const begun = await readStartRecord(folder);
  if (begun === null) {
    // Its host may have died in the moment between: who minds it then says so within this time, or never.
    const mayBegin = age === null ? !(await isMinderGone(folder, process.by, liveness)) : isYoung;
    return mayBegin ? { kind: "starting" } : endedOrLost(folder);
  }
  if (!(await isMinderGone(folder, begun.minder, liveness))) return { kind: "running", begun };
  const seen = await endedOrLost(folder);
  if (seen.end.kind === "lost") killGroup(begun.leader, liveness);
  return seen;
}

/** Who minded it may have written the end down and gone while we looked. */
async function endedOrLost(folder: string): Promise<Extract<ProcessState, { kind: "ended" }>> {
  return { kind: "ended", end: (await readEnd(folder)) ?? { kind: "lost" } };
}

/** How long ago it was written down; `null`: it is not, yet or any more. */
export async function specAge(folder: string): Promise<number | null> {
  const spec = await stat(join(folder, fileNames.spec)).catch(() => null);
  return spec && Date.now() - spec.mtimeMs;
}

async function isMinderGone(folder: string, minder: Holder, liveness: Liveness): Promise<boolean> {
  switch (liveness.isDead(minder)) {
    case "dead":
      return true;
    case "alive":
      return false;
    case "unknown": {
      const beat = await stat(join(folder, fileNames.beat)).catch(() => null);
      return beat === null || Date.now() - beat.mtimeMs > heartbeatTimeoutMs;
    }
  }
}

/** What nobody minds any more has no time limit and cannot be stopped: it ends. Only what is proven to be it is killed. */
function killGroup(leader: Holder, liveness: Liveness): void {
  if (liveness.isDead(leader) !== "alive") return;
  try {
    process.kill(-leader.pid, "SIGKILL");
  } catch {
    // It has just gone.
  }
}

/** Asks who minds it to end it, and wakes them: what they mind may have put them to sleep. */
export function requestStop({ minder }: StartRecord, liveness: Liveness): void {
  if (liveness.isDead(minder) !== "alive") return;
  try {
    process.kill(minder.pid, "SIGTERM");
    process.kill(minder.pid, "SIGCONT");
  } catch {
    // It has just gone.
  }
}
