export { openSqliteStore, type SqliteOptions, type SqliteStore } from "./store.ts";
export { installProbe } from "./probe.ts";
export { checkFileSystem } from "./file-system-check.ts";
export { whySqliteVersionRefused } from "./version-gate.ts";
