import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export type Backend = "sqlite" | "postgres";
export type FixtureKind = "home" | "spill";

const version = "0.1.0";

export const fixturePath = (kind: FixtureKind, backend: Backend): string =>
  fileURLToPath(new URL(`fixtures/${version}-${kind}-${backend}.tar.gz`, import.meta.url));

const snapshotFile = "snapshot.json";
const dumpFile = "store.sql";

/** Archives the `home` in this folder with its snapshot and, on PostgreSQL, the dump of its database. */
export function pack(path: string, folder: string, snapshot: object, dump: string | null): void {
  writeFileSync(join(folder, snapshotFile), JSON.stringify(snapshot));
  if (dump !== null) writeFileSync(join(folder, dumpFile), dump);
  const names = ["home", snapshotFile, ...(dump === null ? [] : [dumpFile])];
  execFileSync("tar", ["-czf", path, "-C", folder, ...names]);
}

export function unpack<Snapshot>(kind: FixtureKind, backend: Backend, folder: string) {
  execFileSync("tar", ["--no-same-owner", "-xzf", fixturePath(kind, backend), "-C", folder]);
  const read = (name: string): string => readFileSync(join(folder, name), "utf8");
  return {
    home: join(folder, "home"),
    dump: backend === "postgres" ? read(dumpFile) : null,
    snapshot: JSON.parse(read(snapshotFile)) as Snapshot,
  };
}
