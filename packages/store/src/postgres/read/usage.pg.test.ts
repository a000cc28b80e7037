import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { aRunId, aUsage } from "@holdfast/testing/fixtures/factories";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import type { UsageGroupQuery } from "@holdfast/engine";
import { Client } from "pg";
import { expect, test } from "vitest";

import { openPostgresStore } from "../open.ts";
import type { PostgresStore } from "../store.ts";

const dayMs = 24 * 3_600_000;
const rowsOfMonth = 120_000;

test("the costs of a run, a session, a day and its groups read only their own rows of a large ledger", async () => {
  await using database = await createDatabase();
  const client = new Client({ connectionString: database.url });
  await client.connect();
  await using _ = { [Symbol.asyncDispose]: () => client.end() };
  const store = await openPostgresStore({ url: database.url });
  const chat = await openTestSession(store);
  const runId = aRunId();
  await chat.commit([aUsage(runId), aUsage(runId), aUsage(aRunId())]);
  const now = await store.now();
  await store.close();
  await client.query(
    `INSERT INTO usage
     SELECT 'ses_' || (n % 500), n, 'run_' || (n / 6), $1, $2::bigint - ${dayMs} - n, 'm', 1, 1, 1, 1, 1
       FROM generate_series(1, ${rowsOfMonth}) n`,
    [chat.owner, now],
  );
  await client.query("VACUUM ANALYZE usage");

  /** A connection reports its statistics when it ends. */
  async function rowsRead(work: (reads: PostgresStore["reads"]) => Promise<unknown>) {
    const before = await readSoFar(client);
    const reader = await openPostgresStore({ url: database.url, maxReaders: 1 });
    // After five executions a prepared statement may get a plan for any values.
    for (let n = 0; n < 10; n += 1) await work(reader.reads);
    await reader.close();
    await expect.poll(() => connectionsOf(client)).toBe(0);
    return (await readSoFar(client)) - before;
  }

  const { owner, session } = chat;
  expect(await rowsRead((reads) => reads.usage(owner, { runId }))).toBe(20);
  expect(await rowsRead((reads) => reads.usage(owner, { session }))).toBe(30);
  expect(await rowsRead((reads) => reads.usage(owner, { session, runId }))).toBeLessThanOrEqual(30);
  expect(await rowsRead((reads) => reads.usage(owner, { since: now - dayMs }))).toBe(30);
  const within = { from: now - dayMs, to: now + 1 };
  const day = async (query: UsageGroupQuery) =>
    rowsRead((reads) => reads.usageGroups(owner, query));
  expect(await day({ by: "day", days: [within] })).toBe(30);
  expect(await day({ by: "model", within, limit: 10 })).toBe(30);
  expect(await day({ by: "session", within, limit: 10 })).toBe(30);
  expect(await day({ by: "client", prefix: "schedule:", within, limit: 10 })).toBeLessThanOrEqual(
    30,
  );
});

async function readSoFar(client: Client): Promise<number> {
  const { rows } = await client.query<{ read: string }>(
    `SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) AS read
       FROM pg_stat_user_tables WHERE relname = 'usage'`,
  );
  return Number(rows[0]?.read);
}

async function connectionsOf(client: Client): Promise<number> {
  const { rowCount } = await client.query(
    `SELECT 1 FROM pg_stat_activity
      WHERE datname = current_database() AND application_name LIKE 'holdfast%'`,
  );
  return rowCount ?? 0;
}
