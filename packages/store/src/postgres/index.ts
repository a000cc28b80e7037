export { openPostgresStore } from "./open.ts";
export type { PostgresOptions } from "./settings.ts";
export type { PostgresStore } from "./store.ts";
export { readServerFacts, type ServerFacts } from "./open.ts";
