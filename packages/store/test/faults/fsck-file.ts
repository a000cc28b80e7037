import { runFsck, StoreFailure } from "@holdfast/engine";

import { createAudit } from "../../src/sqlite/read/audit.ts";
import type { Connection } from "../../src/sqlite/connection.ts";
import { createQueries } from "../../src/sqlite/read/queries.ts";

/** What fsck finds in this file; ideally nothing. */
export async function fsckFile(connection: Connection, now: number): Promise<readonly string[]> {
  const queries = createQueries(connection);
  const audit = createAudit({
    async query(name, args) {
      const query = queries[name] as (...args: readonly unknown[]) => never;
      return query(...args);
    },
    write: async () => {
      throw new StoreFailure("store_closed", "A check only reads.");
    },
  });
  const { found, unproven, failure } = await runFsck(audit, { now });
  const findings = found.map(({ code, key, message }) => `${code} ${key}: ${message}`);
  return [...findings, ...unproven, ...(failure === undefined ? [] : [failure])];
}
