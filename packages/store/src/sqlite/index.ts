export { openSqliteStore, type SqliteOptions, type SqliteStore } from "./store.ts";
export { installProbe } from "./connection.ts";
export { checkFileSystem } from "./database-file.ts";
export { readSqliteSchemaState, whySqliteVersionRefused } from "./migrate.ts";
export type { PendingMigration, SchemaState } from "../schema/upgrade.ts";
