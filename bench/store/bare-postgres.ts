import { Client } from "pg";

import type { BareDriver, BareReads } from "./bench-database.ts";

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  return client;
}

/** Bytes that the server has written to its log so far. */
export async function postgresWalBytes(client: Client): Promise<number> {
  const { rows } = await client.query<{ bytes: string }>(
    "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') AS bytes",
  );
  return Number(rows[0]?.bytes);
}

export async function openBarePostgres(url: string): Promise<BareDriver> {
  const client = await connect(url);
  await client.query(
    "CREATE TABLE IF NOT EXISTS bare (pos bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, session text, seq bigint, data text)",
  );
  let seq = 0;
  return {
    insert: (text) =>
      client.query({
        name: "insert",
        text: "INSERT INTO bare (session, seq, data) VALUES ('a-session', $1, $2)",
        values: [(seq += 1), text],
      }),
    insertGroup: (texts) =>
      client.query({
        name: "insert group",
        text: "INSERT INTO bare (session, seq, data) SELECT 'a-session', 1, * FROM unnest($1::text[])",
        values: [texts],
      }),
    walBytes: () => postgresWalBytes(client),
    [Symbol.asyncDispose]: () => client.end(),
  };
}

const pageSql = `
  SELECT seq, id, type, data FROM events WHERE session_id = $1 AND seq > $2 ORDER BY seq LIMIT $3`;

export async function openBarePostgresReads(url: string): Promise<BareReads> {
  const client = await connect(url);
  return {
    list: (owner, limit) =>
      client.query({
        name: "list",
        text: `SELECT id, title, preview, message_count, sort_at FROM sessions
                WHERE owner_id = $1 AND shelf = 0 ORDER BY sort_at DESC, id DESC LIMIT $2`,
        values: [owner, limit],
      }),
    async tail(session, limit) {
      const { rows } = await client.query<{ data: string }>({
        name: "tail",
        text: `SELECT seq, id, type, data FROM events
                WHERE session_id = $1 AND entry ORDER BY seq DESC LIMIT $2`,
        values: [session, limit],
      });
      return rows.map((row): unknown => JSON.parse(row.data));
    },
    async whole(session, pageSize) {
      for (let after = 0; ;) {
        const { rows } = await client.query<{ seq: string; data: string }>({
          name: "page",
          text: pageSql,
          values: [session, after, pageSize],
        });
        for (const row of rows) JSON.parse(row.data);
        if (rows.length < pageSize) return;
        after = Number(rows.at(-1)?.seq);
      }
    },
    [Symbol.asyncDispose]: () => client.end(),
  };
}
