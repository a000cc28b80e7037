import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { Client } from "pg";

import { createDatabase } from "@holdfast/testing/postgres/create-database";
import type { OnCleanup } from "@holdfast/testing/process/start-process";
import { makeFolder } from "../e2e/served-host.ts";
import { type Backend, type FixtureKind, unpack } from "./archive.ts";
import { preload } from "./preload.ts";

export interface RestoredHome<Snapshot> {
  readonly snapshot: Snapshot;
  readonly home: string;
  /** TMPDIR of hosts of this home. */
  readonly temporary: string;
  readonly settings: Record<string, string>;
  /** The time by the clock of these hosts. */
  readonly now: () => number;
}

export interface RestoreOptions {
  readonly kind: FixtureKind;
  readonly backend: Backend;
  /** What the clock shows when the home is opened, counted from the kill. */
  readonly laterMs: number;
  readonly onCleanup: OnCleanup;
}

/**
 * Unpacks a fixture into a folder of its own. Approvals, sign-ins, unsent answers and other things in it expire, so the home is
 * opened at a fixed time after the kill, whatever today is: `Date` of its hosts is set back, and so is the clock of its database.
 * Nothing that is stored is changed.
 */
export async function restoreHome<Snapshot extends { readonly killedAt: number }>(
  options: RestoreOptions,
): Promise<RestoredHome<Snapshot>> {
  const { kind, backend, laterMs, onCleanup } = options;
  const folder = makeFolder(onCleanup);
  const { home, dump, snapshot } = unpack<Snapshot>(kind, backend, folder);
  const temporary = join(folder, "temporary");
  mkdirSync(temporary);
  const openedAt = snapshot.killedAt + laterMs;
  const store =
    dump === null ? {} : { HOLDFAST_STORE: await restoreDatabase(dump, openedAt, onCleanup) };
  const behindMs = Date.now() - openedAt;
  return {
    snapshot,
    home,
    temporary,
    settings: {
      ...store,
      ...preload("set-clock.ts"),
      CLOCK_BEHIND_MS: String(behindMs),
      HOLDFAST_HOME: home,
      // An expired lease is watched for half its time before it is taken over.
      HOLDFAST_LEASE_MS: "6000",
      TMPDIR: temporary,
      // A stored command writes there, as commands of that version could.
      HOLDFAST_SANDBOX: "off",
    },
    now: () => Date.now() - behindMs,
  };
}

/** Functions in `public` hide those of `pg_catalog` where the search path names `pg_catalog` last. */
async function restoreDatabase(
  dump: string,
  openedAt: number,
  onCleanup: OnCleanup,
): Promise<string> {
  const database = await createDatabase();
  onCleanup(async () => {
    await database[Symbol.asyncDispose]();
  });
  const client = new Client({ connectionString: database.url });
  await client.connect();
  try {
    await client.query(dump);
    const { rows } = await client.query<{ behind: string }>(
      "SELECT (clock_timestamp() - to_timestamp($1 / 1000.0))::text AS behind",
      [openedAt],
    );
    for (const clock of ["clock_timestamp", "now"])
      await client.query(
        `CREATE FUNCTION ${clock}() RETURNS timestamptz LANGUAGE sql VOLATILE
           RETURN pg_catalog.${clock}() - interval '${rows[0]!.behind}'`,
      );
    const name = new URL(database.url).pathname.slice(1);
    await client.query(`ALTER DATABASE ${name} SET search_path = public, pg_catalog`);
  } finally {
    await client.end();
  }
  return database.url;
}
