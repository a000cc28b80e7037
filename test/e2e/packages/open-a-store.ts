// Runs where the packages are installed: a store in a file, and the proof that it is sound.
import { runFsck } from "@holdfast/engine";
import { openSqliteStore } from "@holdfast/store";

const store = await openSqliteStore({ file: "example.db" });
const { found, failure } = await runFsck(store.audit, { now: await store.now() });
await store.close();
process.stdout.write(`opened, ${found.length} problems, ${failure ?? "no failure"}\n`);
