// Preloaded into the measured host: answers each message from its parent with what the host holds after a collection.
import { readdirSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

import type { HostFootprint } from "./judge.ts";

const descriptors = process.platform === "linux" ? "/proc/self/fd" : "/dev/fd";

function held(): HostFootprint {
  for (let times = 0; times < 3; times += 1) globalThis.gc?.();
  return {
    memoryMb: process.memoryUsage.rss() / 1024 / 1024,
    files: readdirSync(descriptors).length,
    handles: process.getActiveResourcesInfo().length,
  };
}

if (isMainThread) {
  process.on("message", () => process.send?.(held()));
  process.channel?.unref();
}
