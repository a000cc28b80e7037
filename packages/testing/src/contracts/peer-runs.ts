import { appendFileSync, readFileSync } from "node:fs";

import {
  type Log,
  type MemoryBatch,
  type MemoryHandle,
  MemoryKeeper,
  type RunnerDeps,
  systemClock,
} from "@holdfast/engine";
import { ids } from "@holdfast/protocol";

import { createLiveness, currentHolder } from "@holdfast/store/identity";

export const elsewhereOwner = { provider: "noted", configuration: "one" } as const;

/** A provider that notes what it is given in a file, and then says nothing any more. */
function silentMemory(file: string): MemoryHandle {
  return {
    owner: elsewhereOwner,
    async commit(batch) {
      appendFileSync(file, `${JSON.stringify(batch)}\n`);
      return new Promise(() => {});
    },
    recall: async () => [],
    close: async () => {},
  };
}

export function notedIn(file: string): readonly MemoryBatch[] {
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as MemoryBatch);
}

/** What makes a runner mark its turns, and a keeper commit them as soon as they end. */
export function rememberIn(file: string, log: Log): Pick<RunnerDeps, "remembers" | "onEnded"> {
  const keeper = new MemoryKeeper({
    log,
    ids,
    clock: systemClock,
    holder: () => currentHolder("memory"),
    liveness: createLiveness(),
    leaseMs: 30_000,
    patienceMs: 60_000,
    idleMs: 300_000,
    sweepMs: 60_000,
    providers: { current: () => elsewhereOwner, open: async () => silentMemory(file) },
    onError: (error) => void process.stderr.write(`${String(error)}\n`),
  });
  return {
    remembers: () => elsewhereOwner,
    onEnded: (owner, session) => void keeper.boundary(owner, session, "clear"),
  };
}
