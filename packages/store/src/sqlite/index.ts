export { openSqliteStore, type SqliteOptions, type SqliteStore } from "./store.ts";
export { watchStatements } from "./probe.ts";
export { checkFileSystem } from "./file-system-check.ts";
export { whyRefused } from "./version-gate.ts";
