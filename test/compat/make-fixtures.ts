/**
 * Makes those fixtures of this version that do not exist yet:
 *
 *     node scripts/setup.mjs page
 *     node test/compat/make-fixtures.ts
 *
 * A fixture is never made again: it stands for the homes that people have. README.md says what is in it.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { startPostgres } from "@holdfast/testing/postgres/start-postgres";
import { startPostgresProxy } from "@holdfast/testing/postgres/postgres-proxy";
import type { OnCleanup } from "@holdfast/testing/process/start-process";
import { type Backend, type FixtureKind, fixturePath, pack } from "./archive.ts";
import { dumpPostgres } from "./make/dump-postgres.ts";
import { makeHome } from "./make/scenario.ts";
import { makeSpill } from "./make/spill.ts";

interface StorePlace {
  readonly settings: Record<string, string>;
  readonly blockStore: () => void;
  /** What has to be archived beside the home. */
  readonly dump: () => Promise<string | null>;
}

const stores: Record<Backend, (home: string, onCleanup: OnCleanup) => Promise<StorePlace>> = {
  async sqlite(home, onCleanup) {
    let blocker: DatabaseSync | undefined;
    // Closed only after the archive is made: closing the last connection would truncate the killed host's log.
    onCleanup(() => blocker?.close());
    return {
      settings: {},
      blockStore: () => {
        blocker = new DatabaseSync(join(home, "holdfast.db"), { timeout: 5_000 });
        blocker.exec("BEGIN IMMEDIATE");
      },
      dump: async () => null,
    };
  },
  async postgres(_home, onCleanup) {
    const server = await startPostgres();
    onCleanup(server.stop);
    const { url } = await createDatabase(server.url);
    const proxy = await startPostgresProxy(url);
    onCleanup(async () => {
      await proxy[Symbol.asyncDispose]();
    });
    return {
      settings: { HOLDFAST_STORE: proxy.url },
      blockStore: () => proxy.set("refuse"),
      dump: () => dumpPostgres(url),
    };
  },
};

async function make(kind: FixtureKind, backend: Backend, onCleanup: OnCleanup): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-compat-"));
  onCleanup(() => rmSync(folder, { recursive: true, force: true }));
  const home = join(folder, "home");
  mkdirSync(home, { mode: 0o700 });
  const { settings: store, blockStore, dump } = await stores[backend](home, onCleanup);
  const place = { home, store, onCleanup, blockStore };
  const snapshot = kind === "home" ? await makeHome(place) : await makeSpill(place);
  pack(fixturePath(kind, backend), folder, snapshot, await dump());
}

mkdirSync(new URL("fixtures/", import.meta.url), { recursive: true });
for (const backend of ["sqlite", "postgres"] as const)
  for (const kind of ["home", "spill"] as const) {
    if (existsSync(fixturePath(kind, backend))) continue;
    const ends: Parameters<OnCleanup>[0][] = [];
    try {
      await make(kind, backend, (end) => void ends.push(end));
    } finally {
      for (const end of ends.toReversed()) await end();
    }
  }
