/** What is run by itself: the command line, who minds a background process, the store's threads, and the process that looks at the disk from outside. */
export const hostEntries = {
  main: "packages/host/src/main.ts",
  minder: "packages/host/src/processes/minder.ts",
  writer: "packages/store/src/sqlite/writer.ts",
  reader: "packages/store/src/sqlite/reader.ts",
  search: "packages/store/src/sqlite/search/thread.ts",
  backup: "packages/store/src/sqlite/backup.ts",
  "look-from-outside": "packages/store/src/sqlite/look-from-outside.ts",
};

/** What tests start again and again, in processes and threads of their own. */
export const testEntries = {
  elsewhere: "packages/store/src/contracts/elsewhere-main.ts",
  "processes-runner": "test/chaos/processes-runner.ts",
  "store-writer": "test/chaos/store-writer.ts",
};
