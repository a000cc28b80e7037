import type { Leases, Store } from "@holdfast/engine";

import { processIdentity } from "../identity.ts";
import * as tables from "../schema/tables.ts";
import { createAuditReads } from "./read/audit.ts";
import { createReads } from "./read/reads.ts";
import { ReaderPool } from "./read/reader-pool.ts";
import { createRegister } from "./register.ts";
import { createRequests } from "./requests.ts";
import { createSearch } from "./search/search.ts";
import { Indexer } from "./search/indexer.ts";
import type { Settings } from "./settings.ts";
import { Hints } from "./hints.ts";
import { SignalConnection } from "./signals.ts";
import { CommitNotifier } from "./watch.ts";
import { statement } from "./connection.ts";
import { releaseJob, blobJob, commitJob } from "./write/jobs.ts";
import { acquireLease, LeaseConnection } from "./write/leases.ts";
import { pruneJob } from "./write/prune.ts";
import { purgeJob } from "./write/purge.ts";
import { createBlobObjects } from "./write/blob-objects.ts";
import { readClock, Writer } from "./write/writer.ts";
import { replaceBlobRefsJob, replaceDerivedJob } from "./write/repair.ts";
import { createWork } from "./read/work.ts";
import { columnsOf, leaseTable } from "./rows.ts";

export interface PostgresStore extends Store {
  readonly kind: "postgres";
}

/** Puts the store together on a database whose schema is up to date. */
export function createStore(settings: Settings): PostgresStore {
  const pool = new ReaderPool(settings);
  const signals = new SignalConnection(settings);
  const hints = new Hints(signals);
  const notifier = new CommitNotifier(settings, pool, signals);
  const indexer = new Indexer(pool, settings);
  const writer = new Writer(settings, ({ sessions, searchable }) => {
    notifier.notify(sessions);
    if (searchable) indexer.schedule();
  });

  const leaseConnection = new LeaseConnection(settings);

  const now = async (): Promise<number> => {
    const [row] = await pool.rows(readClock, []);
    return Number(row?.["now"]) + settings.clockOffset();
  };

  return {
    kind: "postgres",
    identity: processIdentity,
    reads: createReads(pool),
    leases: {
      ...createLeaseReads(pool, now),
      acquire: (request) => acquireLease(writer, settings, request),
      renew: (leases, ttlMs) => leaseConnection.renew(leases, ttlMs),
      release: (lease) => writer.submit(releaseJob(lease)),
    },
    audit: {
      ...createAuditReads(pool),
      replaceDerived: (derived) => writer.submit(replaceDerivedJob(derived)),
      replaceBlobRefs: (refs, owner) => writer.submit(replaceBlobRefsJob(refs, owner)),
    },
    blobObjects: createBlobObjects(writer, pool),
    work: createWork(pool, now),
    requests: createRequests(writer, pool, now),
    register: createRegister(writer, pool, (key) => hints.registerChanged(key)),
    search: createSearch(pool, indexer),
    commit: (commit) => writer.submit(commitJob(commit), commit.pace ?? "now"),
    putBlob: (owner, bytes, mediaType) =>
      writer.submit(blobJob({ owner, id: tables.blobIdOf(bytes), bytes, mediaType })),
    async purge(owner, session) {
      const result = await writer.submit(purgeJob(owner, session));
      if (result.status === "purged") indexer.schedule();
      return result;
    },
    prune: (limit) => writer.submit(pruneJob(limit)),
    watch: (session, pace, wake) => notifier.watch(session, pace, wake),
    signalWork: (item) => hints.work(item),
    watchWork: (wake) => hints.watchWork(wake),
    watchRegister: (words, wake) => hints.watchRegister(words, wake),
    now,
    async close() {
      await writer.close();
      await leaseConnection.close();
      await notifier.close();
      await hints.close();
      await signals.close();
      await indexer.close();
      await pool.close();
    },
  };
}

const leaseOf = statement(
  "lease_of",
  `SELECT ${columnsOf(tables.leases)} FROM leases WHERE kind = $1 AND session_id = $2`,
);
const expiredLeases = statement(
  "expired_leases",
  `SELECT ${columnsOf(tables.leases)} FROM leases WHERE kind = $1 AND expires_at <= $2 ORDER BY expires_at, session_id LIMIT $3`,
);

function createLeaseReads(
  pool: ReaderPool,
  now: () => Promise<number>,
): Pick<Leases, "read" | "expired"> {
  return {
    async read(kind, session) {
      const at = await now();
      const [row] = await pool.rows(leaseOf, [kind, session]);
      const lease = row === undefined ? null : leaseTable.decode(row);
      return lease !== null && lease.expiresAt > at ? lease : null;
    },
    async expired(kind, limit) {
      const rows = await pool.rows(expiredLeases, [kind, await now(), limit]);
      return rows.map(leaseTable.decode);
    },
  };
}
