export { openSqliteStore, type SqliteOptions, type SqliteStore } from "./store.ts";
export { installProbe } from "./connection.ts";
export { checkFileSystem } from "./database-file.ts";
export { whySqliteVersionRefused } from "./migrate.ts";
