import type { LeaseRow } from "@holdfast/engine";
import type { SessionId } from "@holdfast/protocol";

import type { Connection } from "../connection.ts";
import { leaseTable } from "../rows/tables.ts";
import { readSession, type StoredSession } from "../rows/sessions.ts";

/** A session as the writer remembers it between two groups. */
export interface CachedSession extends StoredSession {
  readonly leases: readonly LeaseRow[];
}

const maxSessions = 4_096;

/**
 * Rows of recently written sessions, so that a stream of checkpoints reads nothing. Valid until somebody else writes
 * to the file (`data_version`) or a transaction is rolled back.
 */
export class SessionCache {
  readonly #sessions = new Map<SessionId, CachedSession>();
  #dataVersion = -1;

  /** Call inside a transaction, before reading from the cache. */
  validate(connection: Connection): "foreign write" | "unchanged" {
    const version = Number(connection.sql("PRAGMA data_version").get()?.["data_version"]);
    if (version === this.#dataVersion) return "unchanged";
    this.clear();
    this.#dataVersion = version;
    return "foreign write";
  }

  /** Also forgets the data version: each connection counts by itself, so it means nothing to the next one. */
  clear(): void {
    this.#sessions.clear();
    this.#dataVersion = -1;
  }

  get(connection: Connection, id: SessionId): CachedSession | null {
    const cached = this.#sessions.get(id);
    if (cached !== undefined) return cached;
    const stored = readSession(connection, id);
    if (stored === null) return null;
    const leases = connection.sql(leasesBySession).all(stored.key).map(leaseTable.decode);
    return this.set({ ...stored, leases });
  }

  set(session: CachedSession): CachedSession {
    this.#sessions.delete(session.row.id);
    this.#sessions.set(session.row.id, session);
    if (this.#sessions.size > maxSessions) {
      const [oldest] = this.#sessions.keys();
      if (oldest !== undefined) this.#sessions.delete(oldest);
    }
    return session;
  }

  forget(id: SessionId): void {
    this.#sessions.delete(id);
  }
}

const leasesBySession = `
  SELECT r.kind, s.id AS session_id, r.fence, r.holder, r.expires_at
    FROM leases r JOIN sessions s ON s.key = r.session_key WHERE r.session_key = ?`;
