import { getEnvironmentData } from "node:worker_threads";

import { installProbe } from "../../src/sqlite/connection.ts";

/** Shared with the test: 1 ends the thread at its next COMMIT, once. */
const shared = getEnvironmentData("holdfast.die-probe");
const dies = new Int32Array(
  shared instanceof SharedArrayBuffer ? shared : new SharedArrayBuffer(4),
);

installProbe((sql) => {
  if (sql === "COMMIT" && Atomics.exchange(dies, 0, 0) === 1) process.exit(1);
});
