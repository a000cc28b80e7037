/**
 * The entry points of processes and threads: the command line, the supervisor of background processes, the search
 * thread, the process that reads what is imported, the store's threads, and the process that probes the file system.
 */
export const hostEntries = {
  main: "packages/host/src/main.ts",
  minder: "packages/host/src/automation/processes/minder.ts",
  "search-worker": "packages/host/src/agent/tools/search-worker.ts",
  "source-process": "packages/host/src/ops/import/source-process.ts",
  writer: "packages/store/src/sqlite/threads/writer.ts",
  reader: "packages/store/src/sqlite/threads/reader.ts",
  search: "packages/store/src/sqlite/threads/search.ts",
  backup: "packages/store/src/sqlite/threads/backup.ts",
  "file-system-probe": "packages/store/src/sqlite/file-system-probe.ts",
};

/** What tests start again and again, in their own processes and threads. */
export const testEntries = {
  peer: "packages/testing/src/databases/peer-main.ts",
  "processes-runner": "test/chaos/processes/runner.ts",
  "store-writer": "test/chaos/store/writer.ts",
};
