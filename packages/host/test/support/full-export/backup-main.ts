import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";

// Makes or restores a backup, and dies at the given change of a folder: with an even number behind it, else before.
const [what = "", home = "", folder = "", last = "0"] = process.argv.slice(2);
let changes = 0;

async function counted<T>(change: () => Promise<T>): Promise<T> {
  changes += 1;
  const isLast = changes === Number(last);
  if (isLast && changes % 2 === 1) process.kill(process.pid, "SIGKILL");
  const result = await change();
  if (isLast) process.kill(process.pid, "SIGKILL");
  return result;
}

const { rename, copyFile, rm } = fs;
fs.rename = (from, to) => counted(() => rename(from, to));
fs.copyFile = (from, to, mode) => counted(() => copyFile(from, to, mode));
fs.rm = (path, options) => counted(() => rm(path, options));
syncBuiltinESMExports();

if (what === "backup") {
  const { openSqliteStore } = await import("@holdfast/store/sqlite");
  const { makeBackup } = await import("../../../src/ops/transfer/backup.ts");
  const store = await openSqliteStore({ file: join(home, "holdfast.db") });
  const made = await makeBackup(home, store, new Date(1));
  await store.close();
  process.exitCode = made?.status === "verified" ? 0 : 1;
} else {
  const { restoreBackup } = await import("../../../src/ops/transfer/restore.ts");
  const now = new Date(Number(last));
  const restored = await restoreBackup(folder, home, { existing: "moved aside", now });
  process.exitCode = restored.ok ? 0 : 1;
}
