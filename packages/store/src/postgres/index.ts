export { openPostgresStore } from "./open.ts";
export type { PostgresOptions } from "./settings.ts";
export type { PostgresStore } from "./store.ts";
export { readServerFacts, readUpgradeFacts, type ServerFacts, type UpgradeFacts } from "./open.ts";
export type { ConnectedHost, PendingMigration, SchemaState } from "../schema/upgrade.ts";
