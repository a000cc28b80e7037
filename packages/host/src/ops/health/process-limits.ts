import { readFileSync } from "node:fs";
import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** Below this a few hundred open pages are too many. */
const minOpenFiles = 4_096;

/** A sentence for the operator when few files may be open at once; each open page takes one. */
export function fileLimitWarning(limits: string | undefined = readLimits()): string | undefined {
  const soft = /^Max open files\s+(\d+)/m.exec(limits ?? "")?.[1];
  if (soft === undefined || Number(soft) >= minOpenFiles) return undefined;
  return `Only ${soft} files may be open at once, and each open page takes one: raise the limit to at least ${minOpenFiles} ("ulimit -n 65536", or LimitNOFILE= of the service).`;
}

function readLimits(): string | undefined {
  try {
    return readFileSync("/proc/self/limits", "utf8");
  } catch {
    // Elsewhere the system does not tell it this way, and Node itself has raised it as far as it may.
    return undefined;
  }
}

/**
 * V8 doubles the space of young objects whenever many of them live on, up to 134 MB, and hardly gives it back. A start, and
 * thousands of pages that come at once, look like that without needing it. Within this size 5,000 of them and 200 live runs
 * were still served in time (docs/benchmarks.md).
 */
const maxYoungBytes = 16 * 1024 * 1024;

/** Until the host is there, the space stays as it is: a start leaves little behind that is worth room. */
export function limitYoungGeneration(): void {
  setFlagsFromString("--semi-space-growth-factor=1");
}

/** From now on it may grow, as far as is of use. It grows when garbage is collected, so that is when it is looked at. */
export function allowYoungGenerationGrowth(): void {
  if (youngGenerationBytes() >= maxYoungBytes) return;
  setFlagsFromString("--semi-space-growth-factor=2");
  const watch = new PerformanceObserver(() => {
    if (youngGenerationBytes() < maxYoungBytes) return;
    limitYoungGeneration();
    watch.disconnect();
  });
  watch.observe({ entryTypes: ["gc"] });
}

function youngGenerationBytes(): number {
  const space = getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space");
  return space?.space_size ?? 0;
}
