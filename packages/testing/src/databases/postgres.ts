import { Client } from "pg";

import { countOnPostgres } from "./database-work.ts";
import { holdByLock, overtakeByLock } from "./held-writes.ts";
import { identity, spills } from "./host-parts.ts";
import { createCommonParts, type SqlDatabaseFactory, startSqlPeer } from "./sql-database.ts";
import { observeRows } from "./statement-recorder.ts";
import { openStoreAt, type SqlQuery } from "./store-address.ts";

/** Only PostgreSQL tests have a server, so they pass in how to create a database. */
export function postgresDatabase(
  createDatabase: () => Promise<AsyncDisposable & { readonly url: string }>,
): SqlDatabaseFactory {
  return {
    name: "postgres",
    identity,
    spills,
    async create() {
      const database = await createDatabase();
      const { url } = database;
      const address = { kind: "postgres", url } as const;
      const query: SqlQuery = async (sql) => {
        const client = new Client({ connectionString: url });
        await client.connect();
        try {
          return (await client.query<Record<string, unknown>>(sql)).rows;
        } finally {
          await client.end();
        }
      };
      return {
        ...createCommonParts({ address, query }),
        startHoldablePeer: () => startSqlPeer("process", { address }),
        holdWrites: (session) => holdByLock(url, session),
        overtakeWrite: overtakeByLock(url),
        openObserved: async (options) => ({
          store: await openStoreAt(address, options),
          observe: observeRows(query),
        }),
        checkpointTables: ["deltas", "events", "heads", "runs", "usage"],
        listRows: () =>
          Promise.all([
            query("SELECT xmin::text, ctid::text, * FROM sessions ORDER BY id"),
            query("SELECT xmin::text, ctid::text, * FROM session_tags ORDER BY tag, shelf"),
          ]),
        async failWritesWith(text) {
          await query(`
            CREATE FUNCTION fail_text() RETURNS trigger LANGUAGE plpgsql AS
              $$ BEGIN RAISE EXCEPTION 'failed'; END $$`);
          await query(`
            CREATE TRIGGER fail_text BEFORE INSERT ON events FOR EACH ROW
              WHEN (NEW.data LIKE '%${text}%') EXECUTE FUNCTION fail_text()`);
        },
        countWork: async () => countOnPostgres(url, query),
        async drop() {
          await database[Symbol.asyncDispose]();
        },
      };
    },
  };
}
