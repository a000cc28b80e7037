// Preloaded into the measured host: writes what it holds after a collection to a file, at each SIGUSR2.
import { readdirSync, renameSync, writeFileSync } from "node:fs";
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

const file = process.env["SOAK_FOOTPRINT_FILE"];
if (isMainThread && file !== undefined)
  process.on("SIGUSR2", () => {
    writeFileSync(`${file}.new`, JSON.stringify(held()));
    renameSync(`${file}.new`, file);
  });
