export { openPostgresStore } from "./postgres/open.ts";
export { type PostgresOptions } from "./postgres/settings.ts";
export { type PostgresStore } from "./postgres/store.ts";
export { OpenFailure, type OpenFailureCode } from "./shared/open-failure.ts";
export { openSqliteStore, type SqliteOptions, type SqliteStore } from "./sqlite/store.ts";
export { blobIdOf } from "./schema/tables.ts";
