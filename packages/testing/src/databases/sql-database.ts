import type {
  CountableDatabase,
  DamageableDatabase,
  FailingDatabase,
  HoldableDatabase,
  InspectableDatabase,
  ObservableDatabase,
  TestDatabaseFactory,
} from "../contracts/test-database.ts";
import { startPeer } from "../contracts/peer.ts";
import { damageMessages, growDatabase } from "./bulk-rows.ts";
import { damageStatement } from "./damage.ts";
import {
  openStoreAt,
  type PeerAddress,
  type SqlAccess,
  type StoreAddress,
} from "./store-address.ts";

/** A database that supports everything a contract suite may need. */
export interface SqlDatabase
  extends
    SqlAccess,
    InspectableDatabase,
    HoldableDatabase,
    ObservableDatabase,
    FailingDatabase,
    DamageableDatabase,
    CountableDatabase {}

export interface SqlDatabaseFactory extends TestDatabaseFactory<SqlDatabase> {
  readonly name: StoreAddress["kind"];
}

/** What both databases have in common. */
export function createCommonParts(access: SqlAccess) {
  const { address, query } = access;
  return {
    ...access,
    open: (options = {}) => openStoreAt(address, options),
    startPeer: (kind) => startSqlPeer(kind, { address }),
    async storedEventIds() {
      return new Set((await query("SELECT id FROM events")).map(({ id }) => String(id)));
    },
    async damage(what, at) {
      await query(damageStatement(what, at, address.kind));
    },
    async count(rows) {
      const tables = rows === "events" ? ["events", "deltas"] : [rows];
      const counts = await Promise.all(
        tables.map((table) => query(`SELECT count(*) AS n FROM ${table}`)),
      );
      return counts.reduce((sum, [row]) => sum + Number(row?.["n"]), 0);
    },
    grow: (growth) => growDatabase(access, growth),
    damageMessages: (session, upTo) => damageMessages(access, session, upTo),
  } satisfies Partial<SqlDatabase>;
}

const peerScript = new URL("./peer-main.ts", import.meta.url);

export const startSqlPeer = (kind: "process" | "thread", address: PeerAddress) =>
  startPeer(peerScript, kind, address);
