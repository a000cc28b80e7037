import { join } from "node:path";
import type { Store } from "@holdfast/engine";

import { chooseToken } from "./server/auth/token.ts";
import { type Config, isPostgres } from "./ops/config/settings.ts";
import { prepareHome } from "./ops/config/home.ts";
import { done, failed, type Outcome } from "./util/outcome.ts";

/** A store that is being opened while the rest of its host is loaded. */
export type OpeningStore = Promise<Outcome<Store>>;

/** Begins to open the store of a host whose settings let it start, and comes back when that goes on by itself. */
export async function startOpeningStore(
  config: Config,
  report: (bug: Error) => void,
): Promise<{ readonly begun?: OpeningStore }> {
  const checks = [() => prepareHome(config.home.value), () => chooseToken(config)];
  if (!checks.every((check) => check().ok)) return {};
  const { promise: isUnderWay, resolve } = Promise.withResolvers<void>();
  const begun = openStore(config, report, resolve);
  await Promise.race([isUnderWay, begun]);
  return { begun };
}

/** For a host that does not come to be. */
export async function closeStoreAndReturn<T>(why: T, begun: OpeningStore | undefined): Promise<T> {
  const opened = await begun;
  if (opened?.ok === true) await opened.value.close();
  return why;
}

/** Opens the store that the settings name. What is not used is not loaded: a SQLite host never sees a PostgreSQL driver. */
export async function openStore(
  config: Config,
  report: (bug: Error) => void,
  onUnderWay: () => void = () => undefined,
): Promise<Outcome<Store>> {
  const place = config.store.value ?? join(config.home.value, "holdfast.db");
  try {
    return done(
      await (isPostgres(place) ? openPostgres(place) : openSqlite(place, report, onUnderWay)),
    );
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

async function openSqlite(
  file: string,
  report: (bug: Error) => void,
  onThreads: () => void,
): Promise<Store> {
  const { openSqliteStore } = await import("@holdfast/store/sqlite");
  return openSqliteStore({
    file,
    // At rest nobody asks for anything large: a thread that waits for it would take up a third of the memory.
    reader: "when asked",
    onThreads,
    onDamage: ({ id, seq, problem }) =>
      report(new Error(`Event ${seq} of session ${id} cannot be read and is left out: ${problem}`)),
  });
}
