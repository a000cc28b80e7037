import { getEnvironmentData } from "node:worker_threads";

import { installProbe } from "../../src/sqlite/connection.ts";

/** Shared with the test: the most pages that the file may have; 0 means no limit. */
const shared = getEnvironmentData("holdfast.limit-probe");
const limit = new Int32Array(
  shared instanceof SharedArrayBuffer ? shared : new SharedArrayBuffer(4),
);
let current = 0;

/** SQLite itself then reports a full disk, exactly as it does when the disk says so. */
installProbe((sql, database) => {
  const pages = Atomics.load(limit, 0);
  if (sql !== "BEGIN IMMEDIATE" || pages === current) return;
  current = pages;
  database.exec(`PRAGMA max_page_count = ${pages === 0 ? 4_294_967_294 : pages}`);
});
