import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

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
