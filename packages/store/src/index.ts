export * from "./memory/index.ts";
export { openPostgresStore, type PostgresOptions, type PostgresStore } from "./postgres/index.ts";
export { OpenFailure, type OpenFailureCode } from "./shared/index.ts";
export { openSqliteStore, type SqliteOptions, type SqliteStore } from "./sqlite/index.ts";
