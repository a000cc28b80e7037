import type { Leases, Store } from "@holdfast/engine";

import { blobIdOf } from "../schema/payload.ts";
import { createAuditReads } from "./read/audit.ts";
import { createReads } from "./read/reads.ts";
import { ReaderPool } from "./read/reader-pool.ts";
import { decodeLease } from "./rows/tables.ts";
import { createRegister } from "./register.ts";
import { createRequests } from "./requests.ts";
import { createSearch } from "./search/search.ts";
import { Indexer } from "./search/indexer.ts";
import type { Settings } from "./settings.ts";
import { CommitNotifier } from "./watch.ts";
import { statement } from "./connection.ts";
import { acquireJob, releaseJob, renewJob, blobJob, commitJob } from "./write/jobs.ts";
import { pruneJob } from "./write/prune.ts";
import { purgeJob } from "./write/purge.ts";
import { readClock, Writer } from "./write/writer.ts";
import { replaceBlobRefsJob, replaceDerivedJob } from "./write/repair.ts";
import { createWork } from "./read/work.ts";

export interface PostgresStore extends Store {
  readonly kind: "postgres";
}

/** The pieces put together on a database whose schema is up to date. */
export function createStore(settings: Settings): PostgresStore {
  const readers = new ReaderPool(settings);
  const signals = new CommitNotifier(settings, readers);
  const indexer = new Indexer(readers, settings);
  const writer = new Writer(settings, ({ sessions, searchable }) => {
    signals.notify(sessions);
    indexer.schedule(searchable);
  });

  const now = async (): Promise<number> => {
    const [row] = await readers.rows(readClock, []);
    return Number(row?.["now"]) + settings.clockOffset();
  };

  return {
    kind: "postgres",
    reads: createReads(readers),
    leases: createLeases(writer, readers, now),
    audit: {
      ...createAuditReads(readers),
      replaceDerived: (derived) => writer.submit(replaceDerivedJob(derived)),
      replaceBlobRefs: (refs, owner) => writer.submit(replaceBlobRefsJob(refs, owner)),
    },
    work: createWork(readers, now),
    requests: createRequests(writer, readers, now),
    register: createRegister(writer, readers),
    search: createSearch(readers, indexer),
    commit: (commit) => writer.submit(commitJob(commit), commit.pace ?? "now"),
    putBlob: (owner, bytes, mediaType) =>
      writer.submit(blobJob({ owner, id: blobIdOf(bytes), bytes, mediaType })),
    purge: (owner, session) => writer.submit(purgeJob(owner, session)),
    prune: (limit) => writer.submit(pruneJob(limit)),
    watch: (session, pace, wake) => signals.watch(session, pace, wake),
    now,
    async close() {
      await writer.close();
      await signals.close();
      await indexer.close();
      await readers.close();
    },
  };
}

const leaseOf = statement("lease_of", `SELECT * FROM leases WHERE kind = $1 AND session_id = $2`);
const expiredLeases = statement(
  "expired_leases",
  `SELECT * FROM leases WHERE kind = $1 AND expires_at <= $2 ORDER BY expires_at, session_id LIMIT $3`,
);

function createLeases(writer: Writer, readers: ReaderPool, now: () => Promise<number>): Leases {
  return {
    acquire: (request) => writer.submit(acquireJob(request)),
    renew: (leases, ttlMs) => writer.submit(renewJob(leases, ttlMs)),
    release: (lease) => writer.submit(releaseJob(lease)),
    async read(kind, session) {
      const at = await now();
      const [row] = await readers.rows(leaseOf, [kind, session]);
      const lease = row === undefined ? null : decodeLease(row);
      return lease !== null && lease.expiresAt > at ? lease : null;
    },
    async expired(kind, limit) {
      const rows = await readers.rows(expiredLeases, [kind, await now(), limit]);
      return rows.map(decodeLease);
    },
  };
}
