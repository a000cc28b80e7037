import type { Migration } from "./migrations.ts";

/** The first line of a migration that leaves running hosts alone. */
const declaration = /^-- Works beside hosts of schema (\d{4}) and newer\.$/;

/** The schema that a host must know to use a database with this migration: its own, unless it says otherwise. */
export function oldestHostOf({ number, sql }: Migration): number {
  const [firstLine = ""] = sql.split("\n", 1);
  return Number(declaration.exec(firstLine)?.[1] ?? number);
}

/** What opening a store with this version would do to its schema. */
export interface SchemaState {
  /** Of the database; 0 if there is none in it yet. */
  readonly current: number;
  /** The newest that this version knows. */
  readonly newest: number;
  /** The oldest schema that a host must know to use the database as it is. */
  readonly needed: number;
  readonly pending: readonly PendingMigration[];
}

export interface PendingMigration {
  readonly number: number;
  readonly name: string;
  /** Hosts that know this schema go on while the migration runs, and afterwards. */
  readonly oldestHost: number;
}

/** A host that is connected to the database. */
export interface ConnectedHost {
  /** The address that it connects from; `null` over a local socket. */
  readonly address: string | null;
  readonly connections: number;
}

export function pendingAfter(
  current: number,
  known: readonly Migration[],
): readonly PendingMigration[] {
  return known
    .filter(({ number }) => number > current)
    .map((migration) => ({
      number: migration.number,
      name: migration.name,
      oldestHost: oldestHostOf(migration),
    }));
}
