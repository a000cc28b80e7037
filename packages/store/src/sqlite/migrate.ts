import { DatabaseSync } from "node:sqlite";
import { sleep } from "@holdfast/protocol";
import { type Migration, readMigrations } from "../schema/migrations.ts";
import { pendingAfter, type SchemaState } from "../schema/upgrade.ts";
import { OpenFailure } from "../shared/open-failure.ts";
import type { Connection } from "./connection.ts";
import { isBusy } from "./errors.ts";

/** Older versions, and 3.52.0, can lose committed frames when the write-ahead log is reset. */
const oldestSafeVersion = [3, 51, 3] as const;
const brokenVersions = new Set(["3.52.0"]);

/** The reason this SQLite version must not be used, if there is one. */
export function whySqliteVersionRefused(version: string): string | undefined {
  const parts = version.split(".").map(Number);
  const older = compareVersions(parts, oldestSafeVersion) < 0;
  if (!older && !brokenVersions.has(version)) return undefined;
  return `SQLite ${version} can lose committed data (the WAL-reset bug). Holdfast needs 3.51.3 or newer, and not 3.52.0: update Node.js.`;
}

function compareVersions(a: readonly number[], b: readonly number[]): number {
  for (let index = 0; index < b.length; index += 1) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** "HOLD" in ASCII: marks the file as ours. */
const applicationId = 0x484f4c44;
const migrationsFolder = new URL("./migrations/", import.meta.url);
const maxBusyMs = 30_000;

/** Migrates the file to this version's schema. Safe when several processes open a new or old file at once. */
export async function migrate(
  connection: Connection,
  upTo = Number.POSITIVE_INFINITY,
): Promise<void> {
  const version = String(connection.sql("SELECT sqlite_version() AS version").get()?.["version"]);
  const refused = whySqliteVersionRefused(version);
  if (refused !== undefined) throw new OpenFailure("sqlite_unsafe", refused);

  const migrations = readMigrations(migrationsFolder).filter(({ number }) => number <= upTo);
  // Checked before anything changes, and again inside the transaction, when nobody else can write.
  await retryWhileBusy(() => refuseUnknown(connection, migrations.length));
  const mode = await retryWhileBusy(
    () => connection.sql("PRAGMA journal_mode = WAL").get()?.["journal_mode"],
  );
  if (mode !== "wal") {
    throw new OpenFailure(
      "file_system_unsafe",
      "SQLite cannot use a write-ahead log in this folder. Put the data folder on a local disk.",
    );
  }
  // A migration may edit the declaration of a table whose rows stay as they are.
  connection.database.enableDefensive(false);
  await retryWhileBusy(() => connection.exec("BEGIN IMMEDIATE"));
  try {
    applyPending(connection, migrations);
    connection.exec("COMMIT");
  } catch (error) {
    if (connection.database.isTransaction) connection.exec("ROLLBACK");
    throw error;
  } finally {
    connection.database.enableDefensive(true);
  }
}

/** What `migrate` would do to a file that exists. Changes nothing. Throws if the file is no database of ours. */
export function readSqliteSchemaState(file: string): SchemaState {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const pragmaOf = (name: string): number =>
      Number(database.prepare(`PRAGMA ${name}`).get()?.[name]);
    if (pragmaOf("application_id") !== applicationId) throw notOurs();
    const known = readMigrations(migrationsFolder);
    const [current, newest] = [pragmaOf("user_version"), known.length];
    return { current, newest, needed: current, pending: pendingAfter(current, known) };
  } finally {
    database.close();
  }
}

function refuseUnknown(connection: Connection, newest: number): void {
  const tables = Number(connection.sql("SELECT count(*) AS n FROM sqlite_schema").get()?.["n"]);
  if (tables > 0 && pragma(connection, "application_id") !== applicationId) {
    throw notOurs();
  }
  const stored = pragma(connection, "user_version");
  if (stored > newest) {
    throw new OpenFailure(
      "schema_too_new",
      `The database has schema ${stored}, and this Holdfast knows ${newest}. Update Holdfast; nothing was changed.`,
    );
  }
}

const notOurs = (): OpenFailure =>
  new OpenFailure(
    "not_a_store",
    "The file is a database, but not one of Holdfast's. Choose another file.",
  );

function applyPending(connection: Connection, migrations: readonly Migration[]): void {
  refuseUnknown(connection, migrations.length);
  const stored = pragma(connection, "user_version");
  for (const { number, sql } of migrations.slice(stored)) {
    connection.exec(sql);
    connection.exec(`PRAGMA user_version = ${number}`);
  }
  if (pragma(connection, "application_id") !== applicationId)
    connection.exec(`PRAGMA application_id = ${applicationId}`);
}

function pragma(connection: Connection, name: "user_version" | "application_id"): number {
  return Number(connection.sql(`PRAGMA ${name}`).get()?.[name]);
}

async function retryWhileBusy<T>(action: () => T): Promise<T> {
  const deadline = performance.now() + maxBusyMs;
  for (;;) {
    try {
      return action();
    } catch (error) {
      if (!isBusy(error) || performance.now() >= deadline) throw error;
      await sleep(1 + Math.random() * 10);
    }
  }
}
