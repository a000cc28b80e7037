import { existsSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";

import type { SessionId } from "@holdfast/protocol";
import { Client } from "pg";

import type { HeldWrite, HoldableDatabase } from "../contracts/test-database.ts";

/** The option that makes the writes of a SQLite store holdable. */
export function holdOptions(file: string): { readonly probeModule: string } {
  const probe = new URL("./held-writes-probe.ts", import.meta.url);
  probe.searchParams.set("gate", gateOf(file));
  return { probeModule: probe.href };
}

const gateOf = (file: string) => `${file}.gate`;

/** SQLite's writer stops right before BEGIN, when everything outside the transaction is prepared. */
export async function holdByFile(file: string): Promise<HeldWrite> {
  const gate = gateOf(file);
  writeFileSync(gate, "");
  return {
    async reached() {
      while (!existsSync(`${gate}.reached`)) await wait(2);
    },
    async release() {
      rmSync(`${gate}.reached`, { force: true });
    },
  };
}

export function overtakeByFile(file: string): HoldableDatabase["overtakeWrite"] {
  return async (_session, write, takeOver) => {
    const held = await holdByFile(file);
    const written = write();
    await held.reached();
    try {
      return { written, taken: Promise.resolve(await takeOver()) };
    } finally {
      await held.release();
    }
  };
}

async function lockWith(url: string, statement: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query("BEGIN");
  await client.query(statement);
  return client;
}

/** PostgreSQL's transaction has begun and waits for the session's row. */
export async function holdByLock(url: string, session: SessionId): Promise<HeldWrite> {
  const client = await lockWith(
    url,
    `SELECT 1 FROM heads WHERE session_id = '${session}' FOR UPDATE`,
  );
  return {
    reached: () => untilLockWaiters(client, 1),
    release: () => client.end(),
  };
}

/** The take-over has locked the session's row and waits for another table; then the write waits for the row. */
export function overtakeByLock(url: string): HoldableDatabase["overtakeWrite"] {
  return async (_session, write, takeOver) => {
    const client = await lockWith(url, "LOCK TABLE fences IN ACCESS EXCLUSIVE MODE");
    try {
      const taken = takeOver();
      await untilLockWaiters(client, 1);
      const written = write();
      await untilLockWaiters(client, 2);
      await client.query("ROLLBACK");
      return { written, taken };
    } finally {
      await client.end();
    }
  };
}

/** Resolves when this many transactions of the database wait for a lock. */
async function untilLockWaiters(client: Client, count: number): Promise<void> {
  for (;;) {
    // Within a transaction, pg_stat_activity keeps showing its first snapshot.
    await client.query("SELECT pg_stat_clear_snapshot()");
    const { rowCount } = await client.query(
      "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    );
    if (rowCount === count) return;
    await wait(5);
  }
}
