import { join } from "node:path";
import type { Store } from "@holdfast/engine";

import { type Config, isPostgres } from "./config/index.ts";
import { done, failed, type Outcome } from "./failure.ts";

/** Opens the store that the settings name. What is not used is not loaded: a SQLite host never sees a PostgreSQL driver. */
export async function openStore(
  config: Config,
  report: (bug: Error) => void,
): Promise<Outcome<Store>> {
  const place = config.store.value ?? join(config.home.value, "holdfast.db");
  try {
    return done(isPostgres(place) ? await openPostgres(place) : await openSqlite(place, report));
  } catch (error) {
    // The store says in a sentence of its own why it cannot be opened; anything else is a bug.
    if (!(error instanceof Error) || error.name !== "OpenFailure") throw error;
    return failed("store.unusable", error.message);
  }
}

async function openPostgres(url: string): Promise<Store> {
  const { openPostgresStore } = await import("@holdfast/store/postgres");
  return openPostgresStore({ url });
}

async function openSqlite(file: string, report: (bug: Error) => void): Promise<Store> {
  const { openSqliteStore } = await import("@holdfast/store/sqlite");
  return openSqliteStore({
    file,
    // At rest nobody asks for anything large: a thread that waits for it would take up a third of the memory.
    reader: "when asked",
    onDamage: ({ id, seq, problem }) =>
      report(new Error(`Event ${seq} of session ${id} cannot be read and is left out: ${problem}`)),
  });
}
