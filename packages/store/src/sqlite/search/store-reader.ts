import { z } from "zod";

import type { Connection, Row } from "../connection.ts";
import { indexedTypes } from "./documents.ts";
import type { StoreHead } from "./indexer.ts";

/** The store itself could not be read, which says nothing about the index. */
export class StoreUnreadable extends Error {}

const eventColumns = "e.seq, e.id, e.type, e.v, e.at, e.run_id, e.quiet, e.sum, e.data";
const types = indexedTypes.map((type) => `'${type}'`).join(", ");
const eventsAfter = `
  SELECT e.pos, e.session_key, s.id AS session_id, s.owner_id, ${eventColumns}
    FROM events e LEFT JOIN sessions s ON s.key = e.session_key
   WHERE e.pos > ? AND e.pos <= ? AND e.type IN (${types}) ORDER BY e.pos`;

export interface LogRange {
  readonly rows: readonly Row[];
  /** `rows` contains everything up to here that is indexed. */
  readonly upTo: number;
}

/** What the index reads from the store, on a read-only connection. */
export class StoreReader {
  readonly connection: Connection;

  constructor(connection: Connection) {
    this.connection = connection;
  }

  head(): StoreHead {
    return readStore(() => {
      const log = this.connection
        .sql("SELECT seq FROM sqlite_sequence WHERE name = 'events'")
        .get();
      const purges = this.connection.sql("SELECT max(rowid) AS n FROM purges").get();
      return { pos: Number(log?.["seq"] ?? 0), purges: Number(purges?.["n"] ?? 0) };
    });
  }

  /** The next events after a position that have text or titles, limited in rows and bytes. */
  following(pos: number, { rows: maxRows, bytes: maxBytes, positions }: ReadBounds): LogRange {
    return readStore(() => {
      const end = Math.min(this.head().pos, pos + positions);
      const rows: Row[] = [];
      let bytes = 0;
      for (const row of this.connection.database.prepare(eventsAfter).iterate(pos, end)) {
        rows.push(row);
        bytes += String(row["data"]).length;
        if (rows.length === maxRows || bytes >= maxBytes) return { rows, upTo: Number(row["pos"]) };
      }
      return { rows, upTo: end };
    });
  }

  eventAt(pos: number): Row | undefined {
    return readStore(() =>
      this.connection
        .sql(`SELECT e.pos, e.session_key, ${eventColumns} FROM events e WHERE e.pos = ?`)
        .get(pos),
    );
  }

  eventIdAt(pos: number): string | undefined {
    return readStore(() => {
      const row = this.connection.sql("SELECT id FROM events WHERE pos = ?").get(pos);
      return row && String(row["id"]);
    });
  }

  purgedOwner(key: number): string | undefined {
    return readStore(() => {
      const row = this.connection.sql("SELECT owner_id FROM purges WHERE session_key = ?").get(key);
      return row && String(row["owner_id"]);
    });
  }

  purgesAfter(after: number): readonly { readonly rowid: number; readonly key: number }[] {
    return readStore(() =>
      this.connection
        .sql(
          "SELECT rowid, session_key AS key FROM purges WHERE rowid > ? ORDER BY rowid LIMIT 1000",
        )
        .all(after)
        .map((row) => purgeShape.parse(row)),
    );
  }
}

export interface ReadBounds {
  readonly rows: number;
  readonly bytes: number;
  readonly positions: number;
}

const purgeShape = z.object({ rowid: z.int(), key: z.int() });

export function readStore<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreUnreadable(`The store could not be read: ${reason}`, { cause: error });
  }
}
