import { closeSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import { isMainThread, workerData } from "node:worker_threads";

import { z } from "zod";

import { connect } from "../connection.ts";

export const backupOptions = z.object({ file: z.string(), to: z.string() });

/** Makes a consistent copy with SQLite itself while readers and writers go on. It gets its name only when complete. */
function copyDatabase({ file, to }: z.infer<typeof backupOptions>): void {
  const partial = `${to}.partial`;
  rmSync(partial, { force: true });
  const connection = connect({ file, access: "read" });
  try {
    connection.sql("VACUUM INTO ?").run(partial);
  } finally {
    connection.close();
  }
  const written = openSync(partial, "r+");
  fsyncSync(written);
  closeSync(written);
  renameSync(partial, to);
}

if (!isMainThread) copyDatabase(backupOptions.parse(workerData));
