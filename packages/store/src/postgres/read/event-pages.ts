import type { EventPage, EventQuery } from "@holdfast/engine";
import { type OwnerId, seq, type SessionId } from "@holdfast/protocol";
import { z } from "zod";
import { type Row, statement } from "../connection.ts";
import { decodeEvents, eventColumns } from "../events.ts";
import type { ReaderPool } from "./reader-pool.ts";

const eventPages = statement(
  "event_pages",
  `SELECT r.n, h.head, e.*
     FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[])
          WITH ORDINALITY AS r (owner_id, session_id, after, up_to, count, n)
     JOIN sessions s ON s.id = r.session_id AND s.owner_id = r.owner_id
     JOIN heads h ON h.session_id = s.id
     LEFT JOIN LATERAL (
       (SELECT ${eventColumns} FROM events
         WHERE session_id = s.id AND seq > r.after AND seq <= r.up_to ORDER BY seq LIMIT r.count)
       UNION ALL
       (SELECT ${eventColumns} FROM deltas
         WHERE session_id = s.id AND seq > greatest(r.after, h.settled_upto) AND seq <= r.up_to
         ORDER BY seq LIMIT r.count)
       ORDER BY seq LIMIT r.count) e ON true
    ORDER BY r.n, e.seq`,
);

interface PageRequest {
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly query: EventQuery;
  readonly resolve: (page: EventPage | null) => void;
  readonly reject: (error: unknown) => void;
}

const maxPagesPerQuery = 100;

/**
 * Pages of logs. Those that are asked for in one turn of the event loop are one statement: a signal of another process
 * wakes all the sessions in which it streams.
 */
export class EventPages {
  readonly #pool: ReaderPool;
  #requests: PageRequest[] = [];

  constructor(pool: ReaderPool) {
    this.#pool = pool;
  }

  read(owner: OwnerId, session: SessionId, query: EventQuery): Promise<EventPage | null> {
    return new Promise((resolve, reject) => {
      if (this.#requests.length === 0) setImmediate(() => this.#readAll());
      this.#requests.push({ owner, session, query, resolve, reject });
    });
  }

  #readAll(): void {
    const requests = this.#requests;
    this.#requests = [];
    for (let from = 0; from < requests.length; from += maxPagesPerQuery)
      void this.#readPages(requests.slice(from, from + maxPagesPerQuery));
  }

  async #readPages(requests: readonly PageRequest[]): Promise<void> {
    try {
      const rows = await this.#pool.rows(eventPages, [
        requests.map(({ owner }) => owner),
        requests.map(({ session }) => session),
        requests.map(({ query }) => query.after),
        requests.map(({ query }) => query.upTo ?? Number.MAX_SAFE_INTEGER),
        requests.map(({ query }) => query.limit + 1),
      ]);
      const byRequest = Map.groupBy(rows, (row) => z.int().parse(row["n"]));
      for (const [index, { query, resolve }] of requests.entries())
        resolve(pageOf(byRequest.get(index + 1) ?? [], query.limit));
    } catch (error) {
      for (const { reject } of requests) reject(error);
    }
  }
}

function pageOf(rows: readonly Row[], limit: number): EventPage | null {
  const [first] = rows;
  if (first === undefined) return null;
  const found = rows.filter((row) => row["seq"] !== null);
  return {
    events: decodeEvents(found.slice(0, limit)),
    head: seq.parse(first["head"]),
    more: found.length > limit,
  };
}
