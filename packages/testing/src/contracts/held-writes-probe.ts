// A probe for SQLite's writer: when the file that its address names is there, the writer stands still in front of its
// next transaction, with the write already under way. It says so by renaming the file, and goes on when that is gone.
import { existsSync, renameSync } from "node:fs";

import { installProbe } from "@holdfast/store/sqlite";

const gate = new URL(import.meta.url).searchParams.get("gate");
const pause = new Int32Array(new SharedArrayBuffer(4));

installProbe((sql) => {
  if (gate === null || sql !== "BEGIN IMMEDIATE" || !existsSync(gate)) return;
  const reached = `${gate}.reached`;
  renameSync(gate, reached);
  while (existsSync(reached)) Atomics.wait(pause, 0, 0, 2);
});
