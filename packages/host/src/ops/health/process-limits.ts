import { readFileSync } from "node:fs";
import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** Fewer do not suffice for a few hundred open pages. */
const minOpenFiles = 4_096;

/** A warning for the operator if the open-file limit is low; each open page takes one. */
export function fileLimitWarning(limits: string | undefined = readLimits()): string | undefined {
  const soft = /^Max open files\s+(\d+)/m.exec(limits ?? "")?.[1];
  if (soft === undefined || Number(soft) >= minOpenFiles) return undefined;
  return `Only ${soft} files may be open at once, and each open page takes one: raise the limit to at least ${minOpenFiles} ("ulimit -n 65536", or LimitNOFILE= of the service).`;
}

function readLimits(): string | undefined {
  try {
    return readFileSync("/proc/self/limits", "utf8");
  } catch {
    // Other systems have no such file, and Node has already raised the limit as far as possible.
    return undefined;
  }
}

/**
 * V8 doubles the young generation whenever many objects survive, up to 134 MB, and hardly shrinks it again. A start, or
 * thousands of pages connecting at once, triggers that without need. Within this size, 5,000 pages and 200 live runs
 * were still served in time (docs/benchmarks.md).
 */
const maxYoungBytes = 16 * 1024 * 1024;

/** A host at rest has fewer collections than this in its first seconds, one with work has them at once. */
const collectionsAtRest = 16;

/**
 * Lifts the memory limits of the start (`bin/holdfast.mjs`) with the first work: code may be optimized, and the young generation
 * may grow as far as useful. It grows during garbage collection, so that is when to check.
 */
export function allowGrowth(): void {
  let collections = 0;
  const watch = new PerformanceObserver((list) => {
    const wasAtRest = collections < collectionsAtRest;
    collections += list.getEntries().length;
    if (collections < collectionsAtRest) return;
    if (wasAtRest) {
      for (const flag of ["--opt", "--sparkplug", "--semi-space-growth-factor=2"])
        setFlagsFromString(flag);
    }
    if (youngGenerationBytes() < maxYoungBytes) return;
    setFlagsFromString("--semi-space-growth-factor=1");
    watch.disconnect();
  });
  watch.observe({ entryTypes: ["gc"] });
}

function youngGenerationBytes(): number {
  const space = getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space");
  return space?.space_size ?? 0;
}
