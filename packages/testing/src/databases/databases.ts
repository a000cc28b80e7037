import { createDatabase } from "../postgres/create-database.ts";
import { postgresDatabase } from "./postgres.ts";
import type { SqlDatabaseFactory } from "./sql-database.ts";
import { sqliteDatabase } from "./sqlite.ts";

/** The databases that every contract suite runs on. For `*.pg.test.ts` files only. */
export const databases: readonly SqlDatabaseFactory[] = [
  sqliteDatabase,
  postgresDatabase(createDatabase),
];
