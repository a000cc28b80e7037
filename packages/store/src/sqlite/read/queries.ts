import type {
  EntryQuery,
  EventQuery,
  InputRow,
  LeaseKind,
  LeaseRow,
  ListedPage,
  ListQuery,
  RequestRow,
  RunRow,
  SessionRow,
  Snapshot,
  UsageGroup,
  UsageGroupQuery,
  UsageQuery,
  WorkQuery,
  UsageTotals,
} from "@holdfast/engine";
import {
  type EventId,
  type LaneKey,
  type OwnerId,
  type RunId,
  type SessionId,
  sleep,
} from "@holdfast/protocol";
import { z } from "zod";

import { type Cells, connect, type Connection, type Probe } from "../connection.ts";
import { isBusy } from "../errors.ts";
import type { ThreadServer } from "../threads/thread-server.ts";
import { HeadWatcher, type Wake, type WriteCounter } from "./watch.ts";
import {
  decodeRequest,
  inputTable,
  leaseTable,
  requestByKey,
  rowsOf,
  runTable,
  text,
  readSession,
  type StoredSession,
} from "../rows.ts";
import {
  type ChainPart,
  eventColumns,
  noDeltas,
  type RawEntries,
  type RawEvents,
  readEntries,
  findLog,
  readEvents,
  readJournal,
} from "../events.ts";
import { findEvent, greatestOrderedId } from "../event-ids.ts";
import { type JournalPart, readDeltas } from "./journal-pages.ts";
import { type AuditQueries, auditQueries } from "./audit.ts";
import { type BlobObjectQueries, blobObjectQueries } from "./blob-objects.ts";
import {
  type ApprovalQueries,
  approvalQueries,
  type MemoryQueries,
  memoryQueries,
  type OutboxQueries,
  outboxQueries,
  type WorkQueries,
  workQueries,
} from "./derived-rows.ts";
import { readList, readListJson } from "./list.ts";
import { readUsageGroups } from "./usage-groups.ts";
import { readSender, readUsageOfWork } from "./usage-of-work.ts";

/** A snapshot with undecoded events. */
export interface RawSnapshot extends Omit<Snapshot, "entries" | "journal"> {
  readonly entries: RawEntries;
  readonly journal: readonly Cells[];
  /** The newest deltas; older ones are read page by page. */
  readonly deltas: ChainPart;
}

/** Every query, with its result. */
export interface Queries
  extends
    AuditQueries,
    BlobObjectQueries,
    WorkQueries,
    ApprovalQueries,
    MemoryQueries,
    OutboxQueries {
  session(owner: OwnerId, id: SessionId): SessionRow | null;
  /** Each as the text that `decodeSession` takes. */
  sessions(owner: OwnerId, query: ListQuery): string[];
  listed(owner: OwnerId, query: ListQuery): ListedPage;
  events(owner: OwnerId, id: SessionId, query: EventQuery): RawEvents | null;
  entries(owner: OwnerId, id: SessionId, query: EntryQuery): RawEntries | null;
  snapshot(owner: OwnerId, id: SessionId, query: EntryQuery): RawSnapshot | null;
  /** Deltas of a journal, backwards from there; `null` when they were pruned. */
  deltas(from: number): JournalPart | null;
  event(owner: OwnerId, session: SessionId, id: EventId): readonly Cells[];
  run(owner: OwnerId, id: RunId): RunRow | null;
  lane(owner: OwnerId, lane: LaneKey): SessionId | null;
  senderOf(owner: OwnerId, run: RunId): string | null;
  usage(owner: OwnerId, query: UsageQuery): UsageTotals;
  usageOfWork(owner: OwnerId, query: WorkQuery): UsageTotals;
  usageGroups(owner: OwnerId, query: UsageGroupQuery): UsageGroup[];
  request(owner: OwnerId, key: string, after: number): RequestRow | null;
  lease(kind: LeaseKind, session: SessionId, now: number): LeaseRow | null;
  expiredLeases(kind: LeaseKind, limit: number, now: number): LeaseRow[];
}

const leaseColumns = "r.kind, s.id AS session_id, r.fence, r.holder, r.expires_at";
const runById = `${rowsOf("runs")} WHERE r.id = ?`;
const queuedInputs = `${rowsOf("inputs")} WHERE r.session_key = ? AND r.state = 'queued' ORDER BY r.seq`;
const hasQueuedInput = "SELECT 1 FROM inputs WHERE session_key = ? AND state = 'queued'";

const eventBySeq = `SELECT ${eventColumns} FROM events WHERE session_key = ? AND seq = ?`;

const usageTotals = z.object({
  input: z.int(),
  output: z.int(),
  cacheRead: z.int(),
  cacheWrite: z.int(),
  costMicros: z.int(),
  calls: z.int(),
});

export function createQueries(connection: Connection): Queries {
  /** Another owner's session reads like one that doesn't exist. */
  function findOwned(owner: OwnerId, id: SessionId): StoredSession | null {
    const session = readSession(connection, id);
    return session?.row.owner === owner ? session : null;
  }

  return {
    ...auditQueries(connection),
    ...blobObjectQueries(connection),
    ...workQueries(connection),
    ...approvalQueries(connection),
    ...memoryQueries(connection),
    ...outboxQueries(connection),
    session: (owner, id) => findOwned(owner, id)?.row ?? null,
    sessions: (owner, query) => readList(connection, owner, query),
    listed: (owner, query) => readListJson(connection, owner, query),
    events(owner, id, query) {
      const log = findLog(connection, owner, id);
      return log && readEvents(connection, log, query);
    },
    entries(owner, id, query) {
      const session = findOwned(owner, id);
      return session && readEntries(connection, session, query);
    },
    snapshot(owner, id, query) {
      const session = findOwned(owner, id);
      if (session === null) return null;
      const row =
        session.row.liveRun === null ? undefined : connection.sql(runById).get(session.row.liveRun);
      const run = row === undefined ? null : runTable.decode(row);
      return {
        session: session.row,
        entries: readEntries(connection, session, query),
        run,
        inbox: readInbox(connection, session.key),
        ...(run === null
          ? { journal: [], deltas: noDeltas }
          : readJournal(connection, session, run)),
      };
    },
    deltas: (from) => readDeltas(connection, from),
    event(owner, id, event) {
      const session = findOwned(owner, id);
      if (session === null) return [];
      const { key, row } = session;
      const log = { key, head: row.head, greatestId: greatestOrderedId(connection, session) };
      const found = findEvent(connection, log, event);
      return found === undefined ? [] : connection.cells(eventBySeq, key, found.seq);
    },
    run(owner, id) {
      const row = connection.sql(`${runById} AND s.owner_id = ?`).get(id, owner);
      return row === undefined ? null : runTable.decode(row);
    },
    lane(owner, lane) {
      const row = connection
        .sql(
          "SELECT s.id FROM lanes r JOIN sessions s ON s.key = r.session_key WHERE r.owner_id = ? AND r.lane = ?",
        )
        .get(owner, lane);
      return row === undefined ? null : text<SessionId>(row, "id");
    },
    usage: (owner, query) => readUsage(connection, owner, query),
    senderOf: (owner, run) => readSender(connection, owner, run),
    usageOfWork: (owner, query) => usageTotals.parse(readUsageOfWork(connection, owner, query)),
    usageGroups: (owner, query) => readUsageGroups(connection, owner, query),
    request(owner, key, after) {
      const row = connection.sql(requestByKey).get(owner, key, after);
      return row === undefined ? null : decodeRequest(row);
    },
    lease(kind, session, now) {
      const row = connection
        .sql(
          `SELECT ${leaseColumns} FROM leases r JOIN sessions s ON s.key = r.session_key
            WHERE s.id = ? AND r.kind = ? AND r.expires_at > ?`,
        )
        .get(session, kind, now);
      return row === undefined ? null : leaseTable.decode(row);
    },
    expiredLeases: (kind, limit, now) =>
      connection
        .sql(
          `SELECT ${leaseColumns} FROM leases r JOIN sessions s ON s.key = r.session_key
            WHERE r.kind = ? AND r.expires_at <= ? ORDER BY r.expires_at LIMIT ? + 0`,
        )
        .all(kind, now, limit)
        .map(leaseTable.decode),
  };
}

/** Nearly always empty, which is cheaper to check than to collect. */
function readInbox(connection: Connection, key: number): InputRow[] {
  if (connection.sql(hasQueuedInput).get(key) === undefined) return [];
  return connection.sql(queuedInputs).all(key).map(inputTable.decode);
}

function readUsage(
  connection: Connection,
  owner: OwnerId,
  { session, runId, since, profile }: UsageQuery,
): UsageTotals {
  const filters = [
    ...(runId === undefined ? [] : ["run_id = ?"]),
    ...(session === undefined ? [] : ["session_id = ?"]),
  ];
  const profiles =
    profile === undefined ? [] : ["instr('+' || profile || '+', '+' || ? || '+') > 0"];
  // The unary plus keeps the planner off the index by time, which would read the owner's whole ledger.
  const unindexed = filters.length === 0 ? "" : "+";
  const row = connection
    .sql(
      `SELECT coalesce(sum(input), 0) AS input, coalesce(sum(output), 0) AS output,
              coalesce(sum(cache_read), 0) AS cacheRead, coalesce(sum(cache_write), 0) AS cacheWrite,
              coalesce(sum(cost_micros), 0) AS costMicros, count(*) AS calls
         FROM usage WHERE ${unindexed}owner_id = ? AND ${unindexed}at >= ?
         ${[...filters, ...profiles].map((filter) => `AND ${filter}`).join(" ")}`,
    )
    .get(owner, since ?? 0, ...[runId, session, profile].filter((value) => value !== undefined));
  return usageTotals.parse(row);
}

export type ReaderRequest =
  | {
      [Name in keyof Queries]: {
        readonly op: "query";
        readonly name: Name;
        readonly args: Parameters<Queries[Name]>;
      };
    }[keyof Queries]
  | { readonly op: "watch"; readonly sessions: readonly string[]; readonly pollMs: number | null }
  | { readonly op: "close" };

const maxBusyMs = 5_000;

interface ReaderHandle {
  readonly connection: Connection;
  readonly queries: Queries;
  readonly watcher: HeadWatcher;
}

/** Runs queries in the reader thread, and detects commits of other processes. */
export class QueryServer implements ThreadServer<ReaderRequest> {
  readonly #open: () => ReaderHandle;
  #handle: ReaderHandle | undefined;

  constructor(
    file: string,
    writeCounter: WriteCounter,
    notify: (wake: Wake) => void,
    probe?: Probe,
  ) {
    // Called with the first query: by then the writer has created the file.
    this.#open = () => {
      const connection = connect({ file, access: "read", probe });
      const watcher = new HeadWatcher(connection, file, writeCounter, notify);
      return { connection, queries: createQueries(connection), watcher };
    };
  }

  handle(request: ReaderRequest): unknown {
    if (request.op === "close") return undefined;
    const { connection, queries, watcher } = (this.#handle ??= this.#open());
    if (request.op === "watch") return watcher.watch(request.sessions, request.pollMs);
    const query = queries[request.name] as (...args: readonly unknown[]) => unknown;
    return inReadTransaction(connection, () => query(...request.args));
  }

  close(): void {
    this.#handle?.watcher.close();
    this.#handle?.connection.close();
  }
}

/** Runs a query in one read transaction, so that its result is consistent. */
async function inReadTransaction<T>(connection: Connection, read: () => T): Promise<T> {
  const deadline = performance.now() + maxBusyMs;
  for (;;) {
    try {
      connection.exec("BEGIN");
      return read();
    } catch (error) {
      // Readers never wait, except while another process recovers the write-ahead log.
      if (!isBusy(error) || performance.now() >= deadline) throw error;
      await sleep(1 + Math.random() * 4);
    } finally {
      if (connection.database.isTransaction) connection.exec("COMMIT");
    }
  }
}
