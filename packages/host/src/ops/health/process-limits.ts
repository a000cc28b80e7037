import { readFileSync } from "node:fs";
import { PerformanceObserver } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";

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

/** A host at rest has fewer collections than this in its first seconds, one with work has them at once. */
const collectionsAtRest = 16;

/** With the first work, code may be optimized and the young generation may grow: ends what `bin/holdfast.mjs` saves. */
export function allowGrowth(): void {
  let collections = 0;
  const watch = new PerformanceObserver((list) => {
    collections += list.getEntries().length;
    if (collections < collectionsAtRest) return;
    for (const flag of ["--opt", "--sparkplug", "--semi-space-growth-factor=2"])
      setFlagsFromString(flag);
    watch.disconnect();
  });
  watch.observe({ entryTypes: ["gc"] });
}
