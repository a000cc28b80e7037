export { openSqliteStore, type SqliteOptions, type SqliteStore } from "./store.ts";
export { watchStatements } from "./probe.ts";
