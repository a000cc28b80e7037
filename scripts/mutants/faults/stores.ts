import type { Mutant } from "../mutant.ts";

/** Faults of both stores and of the spill folder that the store's tests must notice. */
export const storeMutants: readonly Mutant[] = [
  {
    fault: "on SQLite a blob that is stored again keeps its old grace period",
    in: "store/operations.ts/storeBlob",
    text: "DO UPDATE SET created_at = excluded.created_at",
    by: "DO NOTHING",
    tests: "sqlite/conformance.test.ts",
  },
  {
    fault: "on SQLite the purge of one branch deletes rows that another reads",
    in: "store/deleteUnreadOrigins",
    replace: 'Number($upto?.["upto"] ?? 0)',
    by: "0",
    tests: "sqlite/conformance.test.ts",
  },
  {
    fault: "a COMMIT whose sync failed counts as not written",
    in: "store/GroupWriter.transaction",
    replace: '$rejected(error) ? $rolledBack : { status: "unknown", error }',
    by: "$rolledBack",
    tests: "faults/every-statement-fails.test.ts",
  },
  {
    fault: "a reopened connection trusts the data version of the one before",
    in: "store/SessionCache.clear",
    drop: "this.$dataVersion = -1;",
    tests: "write/session-cache.test.ts",
  },
  {
    fault: "on SQLite a page up to a seq has open output after it",
    in: "store/readEvents",
    replace: "$chain($connection, $lastDelta, $query.after).filter($isWanted)",
    by: "$chain($connection, $lastDelta, $query.after)",
    tests: "sqlite/conformance.test.ts",
  },
];
