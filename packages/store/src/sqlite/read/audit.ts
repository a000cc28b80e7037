import { type Audit, type Failed, StoreFailure } from "@holdfast/engine/ports";
import { objectOfBlob } from "./blob-objects.ts";
import type { Queries } from "./queries.ts";
import type { Operations } from "../write/operations.ts";
import type {
  Derived,
  LeaseRow,
  LogEnd,
  Orphan,
  PurgeRow,
  RawBlob,
  RawEvent,
  RegisterRow,
  SessionRow,
  UnlinkedSessions,
  UsageRow,
} from "@holdfast/engine";
import { ownerId, type SessionId, sessionId } from "@holdfast/protocol";
import { type EventRead, blobIdOf } from "../../schema/tables.ts";
import { uncheckedObject } from "../../shared/stored-blob.ts";
import { checkChain, hashOfLink, linkOfRow, type UncheckedEvent } from "../../shared/hash-chain.ts";
import type { Connection, Row } from "../connection.ts";
import {
  approvalTable,
  bytesOrNull,
  decodeBlob,
  decodePurge,
  decodeRegister,
  inputTable,
  int,
  laneTable,
  leaseTable,
  markTable,
  memoryTryTable,
  outboxTable,
  rowsOf,
  runTable,
  text,
  textOrNull,
  usageTable,
  decodeSession,
  readSession,
  sessionJson,
  sessionTables,
} from "../rows.ts";
import {
  decodeEventCells,
  decodeEventRow,
  eventColumns,
  readChain,
  readEventRow,
} from "../events.ts";

interface AuditDeps {
  readonly query: <Name extends keyof Queries>(
    name: Name,
    args: Parameters<Queries[Name]>,
  ) => Promise<ReturnType<Queries[Name]>>;
  readonly write: <Name extends keyof Operations>(
    name: Name,
    request: Operations[Name]["request"],
  ) => Promise<Operations[Name]["result"] | Failed>;
}

const pageSize = 500;
const blobPageSize = 8;

/** Concatenates keyset pages. */
async function* pages<Item, Key>(
  first: Key,
  read: (after: Key) => Promise<readonly Item[]>,
  keyOf: (item: Item) => Key,
): AsyncGenerator<Item> {
  let after = first;
  for (;;) {
    const page = await read(after);
    yield* page;
    const last = page.at(-1);
    if (last === undefined) return;
    after = keyOf(last);
  }
}

async function* yieldAll<Item>(items: Promise<readonly Item[]>): AsyncGenerator<Item> {
  yield* await items;
}

function orThrow<Result extends { readonly status: string }>(
  result: Result | Failed,
): Exclude<Result, Failed> {
  if (result.status === "failed") {
    const { code, message } = result as Failed;
    throw new StoreFailure(code, message);
  }
  return result as Exclude<Result, Failed>;
}

export function createAudit({ query, write }: AuditDeps): Audit {
  return {
    sessions: () =>
      pages(
        "",
        (after) => query("auditSessions", [after, pageSize]),
        ({ id }): string => id,
      ),
    events: (session) =>
      checkChain(
        session,
        pages(
          0,
          (after) => query("auditEvents", [session, after, pageSize]),
          (event): number => event.seq,
        ),
      ),
    logEnd: (session) => query("auditLogEnd", [session]),
    unlinked: (after, limit) => query("auditUnlinked", [after, limit]),
    derived: (session) => query("auditDerived", [session]),
    leases: () => yieldAll(query("auditLeases", [])),
    async *blobs() {
      for await (const { blob } of pages(
        0,
        (after) => query("auditBlobs", [after, blobPageSize]),
        ({ key }) => key,
      )) {
        yield blob;
      }
    },
    purges: () => yieldAll(query("auditPurges", [])),
    register: () =>
      pages(
        ["", ""] as readonly [string, string],
        ([owner, key]) => query("auditRegister", [owner, key, pageSize]),
        ({ owner, key }) => [owner, key] as const,
      ),
    usage: (session) => query("auditUsage", [session]),
    orphans: () => yieldAll(query("auditOrphans", [])),
    integrity: () => query("auditIntegrity", []),
    replaceDerived: async (derived) => orThrow(await write("replaceDerived", derived)).status,
    async replaceBlobRefs(refs, owner) {
      orThrow(await write("replaceBlobRefs", { owner, refs }));
    },
  };
}

/** Pages of the whole store in key order, for `fsck`. `after` is the last key of the previous page. */
export interface AuditQueries {
  auditSessions(after: string, limit: number): SessionRow[];
  auditEvents(session: SessionId, after: number, limit: number): UncheckedEvent[];
  auditLogEnd(session: SessionId): LogEnd | null;
  auditUnlinked(after: string, limit: number): UnlinkedSessions;
  auditDerived(session: SessionId): Derived | null;
  auditLeases(): LeaseRow[];
  auditBlobs(after: number, limit: number): { key: number; blob: RawBlob }[];
  auditPurges(): PurgeRow[];
  auditRegister(owner: string, key: string, limit: number): RegisterRow[];
  auditUsage(session: SessionId): UsageRow[];
  auditOrphans(): Orphan[];
  auditIntegrity(): string[];
}

const settledOf = `
  WITH RECURSIVE chain (pos, prev) AS (
    SELECT d.pos, d.prev FROM settled_chains c JOIN deltas d ON d.pos = c.last_delta WHERE c.session_key = ?
    UNION ALL
    SELECT d.pos, d.prev FROM chain JOIN deltas d ON d.pos = chain.prev
  )
  SELECT ${eventColumns} FROM chain JOIN deltas USING (pos) WHERE seq > ?`;

const lastLinkOf = "SELECT seq, link FROM events WHERE session_key = ? ORDER BY seq DESC LIMIT 1";
const lastLinks = `
  SELECT id, owner_id,
         (SELECT link FROM events e WHERE e.session_key = s.key ORDER BY e.seq DESC LIMIT 1) AS link
    FROM sessions s WHERE id > ? ORDER BY id LIMIT ? + 0`;

/** Tables whose rows belong to a session, with the column that names a row to a person. */
const ownedTables = [
  ["events", "id"],
  ["deltas", "id"],
  ["live", "session_key"],
  ["settled_chains", "last_delta"],
  ["runs", "id"],
  ["inputs", "message_id"],
  ["approvals", "id"],
  ["marks", "seq"],
  ["memory_tries", "key"],
  ["outbox", "delivery"],
  ["lanes", "lane"],
  ["leases", "kind"],
  ["fences", "kind"],
  ["session_tags", "tag"],
  ["branches", "log_id"],
  ["requests", "key"],
] as const;

export function auditQueries(connection: Connection): AuditQueries {
  return {
    auditSessions: (after, limit) =>
      connection
        .sql(
          `SELECT ${sessionJson} AS session FROM ${sessionTables} WHERE s.id > ? ORDER BY s.id LIMIT ? + 0`,
        )
        .all(after, limit)
        .map((row) => decodeSession(text(row, "session")).row),
    auditEvents(id, after, limit) {
      const key = keyOfAnyLog(connection, id);
      if (key === null) return [];
      const log = connection
        .sql(
          `SELECT ${eventColumns}, link FROM events WHERE session_key = ? AND seq > ? ORDER BY seq LIMIT ? + 0`,
        )
        .all(key, after, limit);
      const open = readChain(connection, readSession(connection, id)?.lastDelta ?? null, after);
      const settled = connection.sql(settledOf).all(key, after);
      return [
        ...log.map((row) => ({
          ...rawEventOf(id, decodeEventRow(row), "log"),
          ...linkOfRow(readEventRow(row), textOrNull(row, "link")),
        })),
        ...open.map((cells) => ({
          ...rawEventOf(id, decodeEventCells(cells), "delta"),
          ...notLinked,
        })),
        ...settled.map((row) => ({
          ...rawEventOf(id, decodeEventRow(row), "pruned"),
          ...notLinked,
        })),
      ]
        .toSorted((a, b) => a.seq - b.seq)
        .slice(0, limit);
    },
    auditLogEnd(id) {
      const key = keyOfAnyLog(connection, id);
      const row = key === null ? undefined : connection.sql(lastLinkOf).get(key);
      if (row === undefined) return null;
      return { seq: int(row, "seq"), hash: hashOfLink(textOrNull(row, "link")) };
    },
    auditUnlinked(after, limit) {
      const rows = connection.sql(lastLinks).all(after, limit);
      const unlinked = rows.filter((row) => row["link"] === null);
      return {
        sessions: unlinked.map((row) => ({
          owner: ownerId.parse(row["owner_id"]),
          session: sessionId.parse(row["id"]),
        })),
        last: rows.length < limit ? null : String(rows.at(-1)?.["id"]),
      };
    },
    auditDerived(id) {
      const session = readSession(connection, id);
      if (session === null) return null;
      const rows = (table: string) =>
        connection.sql(`${rowsOf(table)} WHERE r.session_key = ?`).all(session.key);
      return {
        session: session.row,
        runs: rows("runs").map(runTable.decode),
        inputs: rows("inputs").map(inputTable.decode),
        lanes: rows("lanes").map(laneTable.decode),
        approvals: rows("approvals").map(approvalTable.decode),
        marks: rows("marks").map(markTable.decode),
        memoryTries: rows("memory_tries").map(memoryTryTable.decode),
        outbox: rows("outbox").map(outboxTable.decode),
        usage: usageOf(connection, id),
      };
    },
    auditLeases: () => connection.sql(rowsOf("leases")).all().map(leaseTable.decode),
    auditBlobs: (after, limit) =>
      connection
        .sql(`SELECT b.*, CASE WHEN b.bytes IS NULL THEN (${objectOfBlob}) END AS object
             FROM blobs b WHERE b.key > ? ORDER BY b.key LIMIT ? + 0`)
        .all(after, limit)
        .map(rawBlobOf),
    auditPurges: () => connection.sql("SELECT * FROM purges").all().map(decodePurge),
    auditRegister: (owner, key, limit) =>
      connection
        .sql(
          `SELECT * FROM register WHERE (owner_id, key) > (?, ?) ORDER BY owner_id, key LIMIT ? + 0`,
        )
        .all(owner, key, limit)
        .map(decodeRegister),
    auditUsage: (id) => usageOf(connection, id),
    auditOrphans: () => ownedTables.flatMap(([table, name]) => orphansOf(connection, table, name)),
    auditIntegrity: () =>
      connection
        .sql("PRAGMA integrity_check(100)")
        .all()
        .map((row) => String(row["integrity_check"]))
        .filter((line) => line !== "ok"),
  };
}

function usageOf(connection: Connection, id: SessionId): UsageRow[] {
  return connection
    .sql("SELECT * FROM usage WHERE session_id = ? ORDER BY seq")
    .all(id)
    .map(usageTable.decode);
}

/** Also finds a purged session, whose rows a branch may still read. */
function keyOfAnyLog(connection: Connection, id: SessionId): number | null {
  const row = connection
    .sql(
      "SELECT key FROM sessions WHERE id = ?1 UNION ALL SELECT session_key FROM purges WHERE session_id = ?1",
    )
    .get(id);
  return row === undefined ? null : Number(row["key"]);
}

const notLinked = { type: "", link: null, commitment: "" } as const;

function rawEventOf(
  session: SessionId,
  read: EventRead,
  place: RawEvent["place"],
): Omit<RawEvent, "link"> {
  if (read.status === "intact") return { session, seq: read.event.seq, event: read.event, place };
  return { session, seq: read.seq, event: null, problem: `${read.id}: ${read.problem}`, place };
}

function rawBlobOf(row: Row): { key: number; blob: RawBlob } {
  const blob = decodeBlob(row);
  const stored = bytesOrNull(row, "bytes");
  if (stored === null) {
    const object = textOrNull(row, "object");
    return { key: int(row, "key"), blob: uncheckedObject(blob, object) };
  }
  const intact = stored.byteLength === blob.size && blobIdOf(stored) === blob.id;
  return { key: int(row, "key"), blob: { ...blob, intact } };
}

/** Rows that may outlive a purged session: log rows that a branch reads, and deltas waiting to be pruned. */
const keptAfterPurge: Readonly<Record<string, string>> = {
  requests: "AND r.session_key IS NOT NULL",
  events: `
    AND NOT EXISTS (
      SELECT 1 FROM purges p JOIN branches b ON b.log_id = p.session_id
       WHERE p.session_key = r.session_key AND r.seq <= b.upto)`,
  deltas: "AND NOT EXISTS (SELECT 1 FROM purges p WHERE p.session_key = r.session_key)",
  settled_chains: "AND NOT EXISTS (SELECT 1 FROM purges p WHERE p.session_key = r.session_key)",
};

function orphansOf(connection: Connection, table: string, name: string): Orphan[] {
  return connection
    .sql(
      `SELECT ${name} AS name FROM ${table} r
        WHERE NOT EXISTS (SELECT 1 FROM sessions s WHERE s.key = r.session_key)
          ${keptAfterPurge[table] ?? ""}
        LIMIT 1000`,
    )
    .all()
    .map((row) => ({ table, key: String(row["name"]) }));
}
