import { runFsck, StoreFailure } from "@holdfast/engine";

import { makeAudit } from "../../src/sqlite/read/audit.ts";
import type { Connection } from "../../src/sqlite/connection.ts";
import { makeQueries } from "../../src/sqlite/read/queries.ts";

/** What fsck finds in this file; nothing, one hopes. */
export async function findUnsound(connection: Connection, now: number): Promise<readonly string[]> {
  const queries = makeQueries(connection);
  const audit = makeAudit({
    async ask(name, args) {
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
