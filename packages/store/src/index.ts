export * from "./memory/index.ts";
export { OpenFailure, type OpenFailureCode } from "./shared/index.ts";
export { openSqliteStore, type SqliteOptions, type SqliteStore } from "./sqlite/index.ts";
