import { type Figure } from "../harness/figures.ts";
import { started, type Started, startTask } from "../harness/task.ts";
import type { Idled, IdleTask } from "./idle-process.ts";

export const idleNote =
  "Idle process: one that only writes and syncs 512 bytes every 20 ms, at the same time. Its event loop, and its write, are late by what the rest of the machine does.";

export function startIdle(task: IdleTask): Started<Idled> {
  const child = startTask(new URL("./idle-process.ts", import.meta.url), task);
  return started(child, (message) => message as Idled);
}

/** What nobody on the machine could do better meanwhile. */
export function idleFigure(ms: number): Figure {
  return { system: "idle process", value: ms, unit: "ms" };
}
