// Runs where the packages are installed. Opens a store in a file and runs fsck on it.
import { runFsck } from "@holdfast/engine";
import { openSqliteStore } from "@holdfast/store";

const store = await openSqliteStore({ file: "example.db" });
const { found, failure } = await runFsck(store.audit, { now: await store.now() });
await store.close();
process.stdout.write(`opened, ${found.length} problems, ${failure ?? "no failure"}\n`);
