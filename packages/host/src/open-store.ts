import { join } from "node:path";
import type { Failed, Store } from "@holdfast/engine";

import { chooseToken } from "./server/auth/token.ts";
import { type Config, isPostgres } from "./ops/config/settings.ts";
import { openObjectStorage } from "./object-storage/open-object-storage.ts";
import type { ObjectStorage } from "./object-storage/object-storage.ts";
import { prepareHome } from "./ops/config/home.ts";
import { done, failed, type Outcome } from "./util/outcome.ts";

export interface OpenedStore {
  readonly store: Store;
  /** Object storage, if it is configured. */
  readonly objects?: ObjectStorage;
  /** Registers a listener for every write that fails from then on, whoever made it. */
  readonly onWriteFailed: (listener: (failure: Failed) => void) => void;
}

/** A store that is being opened while the rest of its host is loaded. */
export type OpeningStore = Promise<Outcome<OpenedStore>>;

/** Starts to open the store if the settings allow the host to start. Does not wait until it is open. */
export async function startOpeningStore(
  config: Config,
  report: (bug: Error) => void,
): Promise<{ readonly opening?: OpeningStore }> {
  const checks = [() => prepareHome(config.home.value), () => chooseToken(config)];
  if (!checks.every((check) => check().ok)) return {};
  const { promise: isUnderWay, resolve } = Promise.withResolvers<void>();
  const opening = openStore(config, report, resolve);
  await Promise.race([isUnderWay, opening]);
  return { opening };
}

/** For a host that fails to start. */
export async function closeStoreAndReturn<T>(
  result: T,
  opening: OpeningStore | undefined,
): Promise<T> {
  const opened = await opening;
  if (opened?.ok === true) await opened.value.store.close();
  return result;
}

/** Opens the store that the settings name. A SQLite host never loads the PostgreSQL driver. */
export async function openStore(
  config: Config,
  report: (bug: Error) => void,
  onUnderWay: () => void = () => undefined,
): Promise<Outcome<OpenedStore>> {
  const place = config.store.value ?? join(config.home.value, "holdfast.db");
  const listeners = new Set<(failure: Failed) => void>();
  const onWriteFailed = (failure: Failed): void => {
    for (const listener of listeners) listener(failure);
  };
  try {
    const store = isPostgres(place)
      ? await openPostgres(place, config.storeListenUrl.value, onWriteFailed)
      : await openSqlite(place, { report, onUnderWay, onWriteFailed });
    const placed = await placeBlobs(store, config, report);
    if (!placed.ok) {
      await store.close();
      return placed;
    }
    return done({ ...placed.value, onWriteFailed: (listener) => void listeners.add(listener) });
  } catch (error) {
    // A store explains in its own message why it cannot be opened; any other error is a bug.
    if (!(error instanceof Error) || error.name !== "OpenFailure") throw error;
    return failed("store.unusable", error.message);
  }
}

/** Adds object storage, if it is configured. */
async function placeBlobs(
  store: Store,
  config: Config,
  report: (bug: Error) => void,
): Promise<Outcome<Pick<OpenedStore, "store" | "objects">>> {
  const objects = await openObjectStorage(config);
  if (!objects.ok) return objects;
  const storage = objects.value;
  const wantsObjects = config.blobStorage.value === "objects";
  if (storage === undefined) {
    if (!wantsObjects) return done({ store });
    const message =
      "HOLDFAST_BLOB_STORAGE is objects, but no server is named: set HOLDFAST_OBJECT_STORAGE_URL.";
    return failed("config.invalid", message);
  }
  const { withBlobObjects } = await import("./object-storage/blob-store.ts");
  const place = wantsObjects ? "objects" : "rows";
  return done({ store: withBlobObjects(store, { storage, place, report }), objects: storage });
}

async function openPostgres(
  url: string,
  listenUrl: string | undefined,
  onWriteFailed: (failure: Failed) => void,
): Promise<Store> {
  const { openPostgresStore } = await import("@holdfast/store/postgres");
  return openPostgresStore({
    url,
    ...(listenUrl !== undefined && { listenUrl }),
    onWriteFailed,
  });
}

interface SqliteCallbacks {
  readonly report: (bug: Error) => void;
  readonly onUnderWay: () => void;
  readonly onWriteFailed: (failure: Failed) => void;
}

async function openSqlite(
  file: string,
  { report, onUnderWay, onWriteFailed }: SqliteCallbacks,
): Promise<Store> {
  const { openSqliteStore } = await import("@holdfast/store/sqlite");
  return openSqliteStore({
    file,
    // An idle host has no large reads, and an idle reader thread would take a third of its memory.
    reader: "when asked",
    onThreads: onUnderWay,
    onWriteFailed,
    onDamage: ({ id, seq, problem }) =>
      report(new Error(`Event ${seq} of session ${id} cannot be read and is left out: ${problem}`)),
  });
}
