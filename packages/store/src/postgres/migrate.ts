import { sleep } from "@holdfast/protocol";
import type { Client } from "pg";
import { z } from "zod";
import { type Migration, readMigrations } from "../schema/migrations.ts";
import { oldestHostOf, pendingAfter, type SchemaState } from "../schema/upgrade.ts";
import { OpenFailure } from "../shared/open-failure.ts";
import { isLockTimeout } from "./errors.ts";

/** The key of our advisory lock: "holdfast" in ASCII. */
const lockKey = "7525352680829580148";

export const migrations = readMigrations(new URL("migrations/", import.meta.url));

export interface MigrationLimits {
  /** How long a migration waits for a table. Meanwhile every statement that needs the table waits behind it. */
  readonly lockTimeoutMs: number;
  /** How long it is tried again. */
  readonly giveUpMs: number;
}

const defaultLimits: MigrationLimits = { lockTimeoutMs: 500, giveUpMs: 30_000 };

/**
 * Applies what is missing, one transaction per step. Processes that start together queue at the lock, and each checks
 * the version again once it holds it, so every step runs once. Running hosts go on meanwhile.
 */
export async function migrate(
  client: Client,
  known: readonly Migration[] = migrations,
  limits: MigrationLimits = defaultLimits,
): Promise<void> {
  let startedAt = performance.now();
  for (;;) {
    const step = await tryNextMigration(client, known, limits);
    if (step.status === "none") return;
    if (step.status === "applied") startedAt = performance.now();
    else {
      if (performance.now() - startedAt >= limits.giveUpMs)
        throw await explainLock(client, step.migration);
      // Long enough for the statements that have queued behind it.
      await sleep(limits.lockTimeoutMs * (1 + Math.random()));
    }
  }
}

type Step =
  | { readonly status: "none" }
  | { readonly status: "applied" }
  | { readonly status: "locked"; readonly migration: Migration };

async function tryNextMigration(
  client: Client,
  known: readonly Migration[],
  { lockTimeoutMs }: MigrationLimits,
): Promise<Step> {
  let next: Migration | undefined;
  await client.query("BEGIN");
  try {
    await client.query("SELECT pg_advisory_xact_lock($1)", [lockKey]);
    await client.query("SELECT set_config('lock_timeout', $1, true)", [String(lockTimeoutMs)]);
    next = await findNextMigration(client, known);
    if (next !== undefined) await apply(client, next);
    await client.query("COMMIT");
    return { status: next === undefined ? "none" : "applied" };
  } catch (error) {
    await client.query("ROLLBACK").catch(() => undefined);
    if (next !== undefined && isLockTimeout(error)) return { status: "locked", migration: next };
    throw error;
  }
}

async function apply(client: Client, migration: Migration): Promise<void> {
  const { number, name, sql } = migration;
  await client.query(sql);
  await client.query("ALTER TABLE holdfast_migrations ADD COLUMN IF NOT EXISTS oldest_host bigint");
  await client.query(
    "INSERT INTO holdfast_migrations (version, name, oldest_host) VALUES ($1, $2, $3)",
    [number, name, oldestHostOf(migration)],
  );
}

const appliedMigration = z.object({
  version: z.coerce.number(),
  oldest_host: z.coerce.number().nullable(),
});

/** What `migrate` would do. Changes nothing. */
export async function readSchemaState(
  client: Client,
  known: readonly Migration[] = migrations,
): Promise<SchemaState> {
  const newest = known.at(-1)?.number ?? 0;
  const { rows: tables } = await client.query(
    "SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'holdfast_migrations'",
  );
  if (tables.length === 0)
    return { current: 0, newest, needed: 0, pending: pendingAfter(0, known) };
  const applied = await readApplied(client);
  const current = Math.max(0, ...applied.map(({ version }) => version));
  const needed = neededBy(applied.filter(({ version }) => version > newest));
  return { current, newest, needed, pending: pendingAfter(current, known) };
}

async function findNextMigration(
  client: Client,
  known: readonly Migration[],
): Promise<Migration | undefined> {
  await client.query(`
    CREATE TABLE IF NOT EXISTS holdfast_migrations (
      version     bigint PRIMARY KEY,
      name        text NOT NULL,
      applied_at  timestamptz NOT NULL DEFAULT now(),
      oldest_host bigint
    )`);
  const applied = await readApplied(client);
  refuseNewer(applied, known.at(-1)?.number ?? 0);
  const newest = Math.max(0, ...applied.map(({ version }) => version));
  return known.find(({ number }) => number > newest);
}

type AppliedMigration = z.infer<typeof appliedMigration>;

async function readApplied(client: Client): Promise<readonly AppliedMigration[]> {
  // 0.1.0 created the table without `oldest_host`.
  const { rows } = await client.query(
    "SELECT version, to_jsonb(m) ->> 'oldest_host' AS oldest_host FROM holdfast_migrations m",
  );
  return rows.map((row) => appliedMigration.parse(row));
}

const neededBy = (applied: readonly AppliedMigration[]): number =>
  Math.max(0, ...applied.map(({ version, oldest_host }) => oldest_host ?? version));

function refuseNewer(applied: readonly AppliedMigration[], newestKnown: number): void {
  const newer = applied.filter(({ version }) => version > newestKnown);
  const needed = neededBy(newer);
  if (needed <= newestKnown) return;
  const newest = Math.max(...newer.map(({ version }) => version));
  throw new OpenFailure(
    "schema_too_new",
    `The database has schema ${newest}, which only a Holdfast that knows schema ${needed} can use; this one knows ` +
      `schemas up to ${newestKnown}. A newer Holdfast has used it: start that one, or restore a backup from before.`,
  );
}

/** Names what has been in a transaction for the longest time: it most likely holds the lock. */
async function explainLock(client: Client, { number, name }: Migration): Promise<OpenFailure> {
  const { rows } = await client.query<{ pid: number; application: string; seconds: number }>(`
    SELECT pid, application_name AS application,
           floor(extract(epoch FROM clock_timestamp() - xact_start))::int AS seconds
      FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
     ORDER BY xact_start LIMIT 1`);
  const [oldest] = rows;
  const holder =
    oldest === undefined
      ? "another transaction"
      : `a transaction that has run for ${oldest.seconds} seconds (pid ${oldest.pid}, "${oldest.application}")`;
  return new OpenFailure(
    "schema_locked",
    `Migration ${number} (${name}) cannot change its tables, because ${holder} uses one of them. Nothing was changed. ` +
      "Wait for it or end it with pg_terminate_backend, and start Holdfast again.",
  );
}
