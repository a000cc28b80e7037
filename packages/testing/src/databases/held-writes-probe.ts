// A probe for SQLite's writer: if the file named in its URL exists, the writer blocks before its next transaction,
// with the write already submitted. It renames the file to report that, and continues when the file is deleted.
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
