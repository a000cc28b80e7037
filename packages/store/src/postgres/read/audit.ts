import type { Orphan, Audit, Derived, LeaseRow } from "@holdfast/engine";
import type { ReaderPool } from "./reader-pool.ts";
import { statement, type Row, execute, type Statement, type SqlValue } from "../connection.ts";
import { ownerId, type SessionId, sessionId } from "@holdfast/protocol";
import { z } from "zod";
import * as tables from "../../schema/tables.ts";
import { uncheckedObject } from "../../shared/stored-blob.ts";
import { objectOfBlob } from "./blob-objects.ts";
import { checkChain, hashOfLink, linkOfRow, type UncheckedEvent } from "../../shared/hash-chain.ts";
import { decodeEventRow, eventColumns, readEventRow } from "../events.ts";
import {
  columnsOf,
  decodeSession,
  sessionColumns,
  storedSessionColumns,
  approvalTable,
  decodeBlob,
  decodePurge,
  decodeRegister,
  inputTable,
  laneTable,
  leaseTable,
  markTable,
  memoryTryTable,
  outboxTable,
  runTable,
  usageTable,
} from "../rows.ts";

/** Tables whose rows belong to a session, with the expression that names a row. Usage outlives its session. */
const ownedTables: readonly { table: string; key: string }[] = [
  { table: "heads", key: "x.session_id" },
  { table: "session_tags", key: "x.session_id || ' ' || x.tag" },
  { table: "deltas", key: "x.session_id || ' ' || x.seq" },
  { table: "settled", key: "x.session_id" },
  { table: "runs", key: "x.id" },
  { table: "inputs", key: "x.message_id" },
  { table: "approvals", key: "x.id" },
  { table: "marks", key: "x.session_id || ' ' || x.seq" },
  { table: "memory_tries", key: "x.session_id" },
  { table: "outbox", key: "x.delivery || ' ' || x.chunk" },
  { table: "lanes", key: "x.owner_id || ' ' || x.lane" },
  { table: "fences", key: "x.session_id || ' ' || x.kind" },
  { table: "leases", key: "x.session_id || ' ' || x.kind" },
  { table: "branches", key: "x.log_id || ' ' || x.session_id" },
];

const orphans = statement(
  "orphans",
  [
    ...ownedTables.map(
      ({ table, key }) => `SELECT '${table}' AS "table", ${key} AS key FROM ${table} x
         WHERE NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = x.session_id)`,
    ),
    // The log of a purged session stays as far as a branch reads it.
    `SELECT 'events', x.session_id || ' ' || x.seq FROM events x
      WHERE NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = x.session_id)
        AND NOT EXISTS (SELECT 1 FROM branches b WHERE b.log_id = x.session_id AND b.upto >= x.seq)`,
    `SELECT 'requests', x.owner_id || ' ' || x.key FROM requests x
      WHERE x.session_id IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = x.session_id)`,
    `SELECT 'sessions', s.id FROM sessions s
      WHERE NOT EXISTS (SELECT 1 FROM heads h WHERE h.session_id = s.id)`,
  ].join("\nUNION ALL\n"),
);

async function* findOrphans(pool: ReaderPool): AsyncIterable<Orphan> {
  for (const row of await pool.rowsWithoutTimeout(orphans)) {
    yield { table: String(row["table"]), key: String(row["key"]) };
  }
}

const integrityProblems = statement(
  "integrity",
  `SELECT 'The index ' || c.relname || ' is not valid; run REINDEX.' AS problem
     FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE NOT i.indisvalid AND c.relnamespace = current_schema()::regnamespace
   UNION ALL
   SELECT checksum_failures || ' pages of this database failed their checksum.'
     FROM pg_stat_database WHERE datname = current_database() AND checksum_failures > 0
   UNION ALL
   SELECT 'The server runs with ' || name || ' off: a power cut may lose what was acknowledged.'
     FROM pg_settings WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off'`,
);

async function checkIntegrity(pool: ReaderPool): Promise<readonly string[]> {
  const rows = await pool.rowsWithoutTimeout(integrityProblems);
  return rows.map((row) => String(row["problem"]));
}

const pageSize = 500;

// A session that has lost its head gets an empty one, so that a rebuild restores it.
const sessionPage = statement(
  "audit_sessions",
  `SELECT ${sessionColumns} FROM (SELECT ${storedSessionColumns} FROM sessions s WHERE id > $1 ORDER BY id LIMIT $2) s
     LEFT JOIN LATERAL (
       SELECT coalesce(max(head), 0) AS head, coalesce(max(activity_at), 0) AS activity_at,
              coalesce(max(open_deltas), 0) AS open_deltas, coalesce(max(settled_upto), 0) AS settled_upto
         FROM heads WHERE session_id = s.id) h ON true
    ORDER BY s.id`,
);
const eventPage = statement(
  "audit_events",
  `(SELECT ${eventColumns}, link, 'log' AS place FROM events WHERE session_id = $1 AND seq > $2 ORDER BY seq LIMIT $3)
   UNION ALL
   (SELECT ${eventColumns}, NULL, CASE WHEN seq <= coalesce(
       (SELECT settled_upto FROM heads WHERE session_id = $1), 0) THEN 'pruned' ELSE 'delta' END
      FROM deltas WHERE session_id = $1 AND seq > $2 ORDER BY seq LIMIT $3)
   ORDER BY seq LIMIT $3`,
);
const logEnd = statement(
  "audit_log_end",
  `SELECT seq, link FROM events WHERE session_id = $1 ORDER BY seq DESC LIMIT 1`,
);
const lastLinks = statement(
  "audit_last_links",
  `SELECT id, owner_id,
          (SELECT link FROM events e WHERE e.session_id = s.id ORDER BY e.seq DESC LIMIT 1) AS link
     FROM sessions s WHERE id > $1 ORDER BY id LIMIT $2`,
);
const leasePage = statement(
  "audit_leases",
  `SELECT ${columnsOf(tables.leases)} FROM leases WHERE (session_id, kind) > ($1, $2) ORDER BY session_id, kind LIMIT $3`,
);
// One blob at a time: each may have megabytes.
const blobPage = statement(
  "audit_blob",
  `SELECT ${columnsOf(tables.blobs, "b")}, b.bytes, ${objectOfBlob}
     FROM blobs b WHERE (b.owner_id, b.id) > ($1, $2) ORDER BY b.owner_id, b.id LIMIT 1`,
);
const purgePage = statement(
  "audit_purges",
  `SELECT ${columnsOf(tables.purges)} FROM purges WHERE session_id > $1 ORDER BY session_id LIMIT $2`,
);

const registerPage = statement(
  "audit_register",
  `SELECT * FROM register WHERE (owner_id, key) > ($1, $2) ORDER BY owner_id, key LIMIT $3`,
);

type AuditReads = Omit<Audit, "replaceDerived" | "replaceBlobRefs">;

export function createAuditReads(pool: ReaderPool): AuditReads {
  const rows = (query: Statement, ...values: SqlValue[]) => pool.rows(query, values);
  return {
    async *sessions() {
      for await (const row of pages((last) => rows(sessionPage, textOf(last, "id"), pageSize))) {
        yield decodeSession(row).row;
      }
    },
    async *events(session) {
      const next = (last: Row | undefined) =>
        rows(eventPage, session, Number(last?.["seq"] ?? -1), pageSize);
      yield* checkChain(session, rawEvents(session, pages(next)));
    },
    async logEnd(session) {
      const [row] = await rows(logEnd, session);
      return row === undefined ? null : { seq: Number(row["seq"]), hash: hashOfLink(linkIn(row)) };
    },
    async unlinked(after, limit) {
      const found = await rows(lastLinks, after, limit);
      return {
        sessions: found
          .filter((row) => row["link"] === null)
          .map((row) => ({
            owner: ownerId.parse(row["owner_id"]),
            session: sessionId.parse(row["id"]),
          })),
        last: found.length < limit ? null : textOf(found.at(-1), "id"),
      };
    },
    derived: (session) => readDerived(pool, session),
    async *leases() {
      const next = (last: Row | undefined) =>
        rows(leasePage, textOf(last, "session_id"), textOf(last, "kind"), pageSize);
      for await (const row of pages(next)) yield leaseTable.decode(row) satisfies LeaseRow;
    },
    async *blobs() {
      const next = (last: Row | undefined) =>
        rows(blobPage, textOf(last, "owner_id"), textOf(last, "id"));
      for await (const row of pages(next)) {
        const { bytes } = row;
        if (bytes === null) {
          const object = z.string().nullable().parse(row["object"]);
          yield uncheckedObject(decodeBlob(row), object);
          continue;
        }
        const intact = bytes instanceof Uint8Array && tables.blobIdOf(bytes) === row["id"];
        yield { ...decodeBlob(row), intact };
      }
    },
    async *purges() {
      for await (const row of pages((last) =>
        rows(purgePage, textOf(last, "session_id"), pageSize),
      )) {
        yield decodePurge(row);
      }
    },
    async *register() {
      const next = (last: Row | undefined) =>
        rows(registerPage, textOf(last, "owner_id"), textOf(last, "key"), pageSize);
      for await (const row of pages(next)) yield decodeRegister(row);
    },
    usage: async (session) => (await rows(derivedUsage, session)).map(usageTable.decode),
    orphans: () => findOrphans(pool),
    integrity: () => checkIntegrity(pool),
  };
}

/** Page after page, each starting where the last ended. */
async function* pages(next: (last: Row | undefined) => Promise<Row[]>): AsyncIterable<Row> {
  let last: Row | undefined;
  for (;;) {
    const page = await next(last);
    yield* page;
    last = page.at(-1);
    if (last === undefined) return;
  }
}

function textOf(row: Row | undefined, column: string): string {
  return row === undefined ? "" : String(row[column]);
}

async function* rawEvents(
  session: SessionId,
  rows: AsyncIterable<Row>,
): AsyncGenerator<UncheckedEvent> {
  for await (const row of rows) yield rawEventOf(session, row);
}

function linkIn(row: Row): string | null {
  return z.string().nullable().parse(row["link"]);
}

function rawEventOf(session: SessionId, row: Row): UncheckedEvent {
  const link = linkOfRow(readEventRow(row), linkIn(row));
  const decoded = decodeEventRow(row);
  const place = row["place"] === "log" ? "log" : row["place"] === "delta" ? "delta" : "pruned";
  if (decoded.status === "intact")
    return { session, seq: decoded.event.seq, event: decoded.event, place, ...link };
  return { session, seq: decoded.seq, event: null, problem: decoded.problem, place, ...link };
}

const derivedSession = statement(
  "derived_session",
  `SELECT ${sessionColumns} FROM sessions s JOIN heads h ON h.session_id = s.id WHERE s.id = $1`,
);
const derivedRuns = statement(
  "derived_runs",
  `SELECT ${columnsOf(tables.runs)} FROM runs WHERE session_id = $1 ORDER BY id`,
);
const derivedInputs = statement(
  "derived_inputs",
  `SELECT ${columnsOf(tables.inputs)} FROM inputs WHERE session_id = $1 ORDER BY seq`,
);
const derivedApprovals = statement(
  "derived_approvals",
  `SELECT ${columnsOf(tables.approvals)} FROM approvals WHERE session_id = $1 ORDER BY id`,
);
const derivedMarks = statement(
  "derived_marks",
  `SELECT ${columnsOf(tables.marks)} FROM marks WHERE session_id = $1 ORDER BY seq`,
);
const derivedMemoryTries = statement(
  "derived_memory_tries",
  `SELECT ${columnsOf(tables.memoryTries)} FROM memory_tries WHERE session_id = $1`,
);
const derivedOutbox = statement(
  "derived_outbox",
  `SELECT ${columnsOf(tables.outbox)} FROM outbox WHERE session_id = $1 ORDER BY delivery, chunk`,
);
const derivedLanes = statement(
  "derived_lanes",
  `SELECT ${columnsOf(tables.lanes)} FROM lanes WHERE session_id = $1 ORDER BY owner_id, lane`,
);
const derivedUsage = statement(
  "derived_usage",
  `SELECT ${columnsOf(tables.usage)} FROM usage WHERE session_id = $1 ORDER BY seq`,
);

function readDerived(pool: ReaderPool, id: SessionId): Promise<Derived | null> {
  return pool.snapshot(async (connection) => {
    const rows = async (query: Statement) => (await execute(connection, query, [id])).rows;
    const [row] = await rows(derivedSession);
    if (row === undefined) return null;
    return {
      session: decodeSession(row).row,
      runs: (await rows(derivedRuns)).map(runTable.decode),
      inputs: (await rows(derivedInputs)).map(inputTable.decode),
      lanes: (await rows(derivedLanes)).map(laneTable.decode),
      approvals: (await rows(derivedApprovals)).map(approvalTable.decode),
      marks: (await rows(derivedMarks)).map(markTable.decode),
      memoryTries: (await rows(derivedMemoryTries)).map(memoryTryTable.decode),
      outbox: (await rows(derivedOutbox)).map(outboxTable.decode),
      usage: (await rows(derivedUsage)).map(usageTable.decode),
    };
  });
}
