import { createHash } from "node:crypto";
import {
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import { dropScratch, makeScratch, scratchRoot } from "../harness/scratch.ts";
import { openBareThread } from "./bare-thread.ts";
import { openBareSqlite, openBareSqliteReads, sizeOf } from "./bare-sqlite.ts";
import {
  type Backend,
  type PreparedIds,
  openStore,
  type BenchDatabase,
  type PreparedDatabase,
} from "./bench-database.ts";

const migrations = new URL("../../packages/store/src/sqlite/migrations/", import.meta.url);

export function sqliteBackend(): Backend {
  return {
    name: "sqlite",
    createDatabase: async () => databaseIn(makeScratch("sqlite")),
    prepareDatabase,
    [Symbol.asyncDispose]: async () => {},
  };
}

function databaseIn(folder: string): BenchDatabase {
  const file = join(folder, "store.db");
  const address = { kind: "sqlite", file } as const;
  return {
    address,
    folder,
    open: (options) => openStore(address, options),
    openBare: async (log = "full") => openBareSqlite(join(folder, "bare.db"), log),
    openBareThread: () => openBareThread(join(folder, "bare-thread.db")),
    openBareReads: async () => openBareSqliteReads(file),
    walBytes: async () => sizeOf(`${file}-wal`),
    [Symbol.asyncDispose]: async () => dropScratch(folder),
  };
}

/** Filled once for each schema and content, kept under the temporary folder, and copied for each use. */
async function prepareDatabase(
  key: string,
  fill: Parameters<Backend["prepareDatabase"]>[1],
): Promise<PreparedDatabase> {
  const kept = join(scratchRoot(), `holdfast-bench-kept-${schemaHash()}`, key);
  if (!existsSync(kept)) {
    const folder = makeScratch("fill");
    const store = await databaseIn(folder).open();
    const known = await fill(store);
    await store.close();
    writeFileSync(join(folder, "known.json"), JSON.stringify(known));
    mkdirSync(join(kept, ".."), { recursive: true });
    // Complete or not at all, even when two runs prepare it at the same time.
    try {
      renameSync(folder, kept);
    } catch (error) {
      if (!existsSync(kept)) throw error;
      rmSync(folder, { recursive: true, force: true });
    }
  }
  const folder = makeScratch("sqlite");
  for (const name of readdirSync(kept)) {
    copyFileSync(join(kept, name), join(folder, name), constants.COPYFILE_FICLONE);
  }
  return { database: databaseIn(folder), known: readKnown(join(folder, "known.json")) };
}

function schemaHash(): string {
  const hash = createHash("sha256");
  for (const name of readdirSync(migrations).toSorted()) {
    hash.update(readFileSync(new URL(name, migrations)));
  }
  return hash.digest("hex").slice(0, 12);
}

function readKnown(file: string): PreparedIds {
  const value: unknown = JSON.parse(readFileSync(file, "utf8"));
  if (typeof value !== "object" || value === null) throw new Error(`${file} is damaged.`);
  return Object.fromEntries(
    Object.entries(value).map(([name, ids]) => [name, Array.isArray(ids) ? ids.map(String) : []]),
  );
}
