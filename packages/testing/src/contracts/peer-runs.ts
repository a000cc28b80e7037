import { appendFileSync, readFileSync } from "node:fs";

import {
  type Log,
  type MemoryBatch,
  type MemoryHandle,
  MemoryCommitter,
  type RunnerDeps,
  systemClock,
} from "@holdfast/engine";
import { ids } from "@holdfast/protocol";

import { createLiveness, currentHolder } from "@holdfast/store/identity";

export const peerMemoryOwner = { provider: "noted", configuration: "one" } as const;

/** A provider that notes what it is given in a file, and then says nothing any more. */
function unansweringMemory(file: string): MemoryHandle {
  return {
    owner: peerMemoryOwner,
    async commit(batch) {
      appendFileSync(file, `${JSON.stringify(batch)}\n`);
      return new Promise(() => {});
    },
    recall: async () => [],
    close: async () => {},
  };
}

export function batchesIn(file: string): readonly MemoryBatch[] {
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as MemoryBatch);
}

/** What makes a runner mark its turns, and a keeper commit them as soon as they end. */
export function memoryDepsFor(
  file: string,
  log: Log,
): Pick<RunnerDeps, "memoryOwnerOf" | "onEnded"> {
  const keeper = new MemoryCommitter({
    log,
    ids,
    clock: systemClock,
    holder: () => currentHolder("memory"),
    liveness: createLiveness(),
    leaseMs: 30_000,
    providerTimeoutMs: 60_000,
    idleMs: 300_000,
    sweepMs: 60_000,
    providers: { current: () => peerMemoryOwner, open: async () => unansweringMemory(file) },
    onError: (error) => void process.stderr.write(`${String(error)}\n`),
  });
  return {
    memoryOwnerOf: () => peerMemoryOwner,
    onEnded: (owner, session) => void keeper.boundary(owner, session, "clear"),
  };
}
