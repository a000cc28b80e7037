import { existsSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";

import type { SessionId } from "@holdfast/protocol";
import { Client } from "pg";

import type { StoreAddress } from "./test-database.ts";

/** A blocked write of another process, with nothing of it durable. */
export interface HeldWrite {
  /** Resolves when a write has got there. */
  reached(): Promise<void>;
  release(): Promise<void>;
}

/** The options for the store whose writes are to be blocked. */
export function holdOptions(address: StoreAddress): { readonly probeModule?: string } {
  if (address.kind === "postgres") return {};
  const probe = new URL("./held-writes-probe.ts", import.meta.url);
  probe.searchParams.set("gate", gateOf(address));
  return { probeModule: probe.href };
}

const gateOf = ({ file }: { readonly file: string }) => `${file}.gate`;

/** On SQLite blocks before the transaction, on PostgreSQL inside it, behind a lock of ours. */
export function holdWrites(address: StoreAddress, session: SessionId): Promise<HeldWrite> {
  return address.kind === "sqlite" ? holdByFile(gateOf(address)) : holdByLock(address.url, session);
}

async function holdByFile(gate: string): Promise<HeldWrite> {
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

async function holdByLock(url: string, session: SessionId): Promise<HeldWrite> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query("BEGIN");
  await client.query(`SELECT 1 FROM heads WHERE session_id = '${session}' FOR UPDATE`);
  return {
    reached: () => untilLockWaiters(client, 1),
    release: () => client.end(),
  };
}

/** Resolves when this many transactions of the database wait for a lock. */
export async function untilLockWaiters(client: Client, count: number): Promise<void> {
  for (;;) {
    const { rowCount } = await client.query(
      "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    );
    if (rowCount === count) return;
    await wait(5);
  }
}
