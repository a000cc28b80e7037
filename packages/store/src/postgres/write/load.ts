import type { ApprovalRow, InputRow, LeaseRow, RunRow } from "@holdfast/engine";
import {
  type ApprovalId,
  type BlobId,
  type DeliveryId,
  deliveryId,
  type EventId,
  type MessageId,
  type RunId,
  type SessionId,
  sessionId,
} from "@holdfast/protocol";
import { z } from "zod";

import {
  awaitAll,
  type QueryResult,
  type Row,
  type Connection,
  type Statement,
  execute,
  statement,
} from "../connection.ts";
import {
  decodeLockedSession,
  lockedColumns,
  type LockedSession,
  approvalTable,
  inputTable,
  leaseTable,
  runTable,
} from "../rows.ts";

/** The rows that a group needs before it can be decided. */
export interface GroupNeeds {
  /** These are locked. */
  readonly sessions: readonly SessionId[];
  /** Sessions to lock unless somebody else has locked them. */
  readonly sessionsIfFree?: readonly SessionId[];
  readonly runs?: readonly RunId[];
  readonly messages?: readonly MessageId[];
  readonly clientIds?: readonly string[];
  readonly blobs?: readonly BlobId[];
  readonly events?: readonly EventId[];
  readonly approvals?: readonly ApprovalId[];
  /** Whether the open approvals of the sessions are needed. */
  readonly openApprovals?: boolean;
  readonly inbound?: readonly string[];
}

export interface EventPosition {
  readonly session: string;
  readonly seq: number;
  readonly at: number;
}

/** The delivery that answers an inbound update. */
export interface InboundDelivery {
  readonly session: SessionId;
  readonly delivery: DeliveryId;
}

export interface LoadedGroup {
  readonly now: number;
  readonly locked: ReadonlySet<string>;
  readonly sessions: readonly LockedSession[];
  readonly leases: readonly LeaseRow[];
  readonly fences: readonly { session: string; kind: string; fence: number }[];
  readonly runs: readonly RunRow[];
  readonly inputs: readonly InputRow[];
  readonly approvals: readonly ApprovalRow[];
  readonly inbound: ReadonlyMap<string, InboundDelivery>;
  readonly positions: ReadonlyMap<string, EventPosition>;
  /** `owner id`. */
  readonly blobs: ReadonlySet<string>;
  readonly purged: ReadonlySet<string>;
}

// In id order, so that two groups that share sessions wait for each other instead of deadlocking.
const lockHeads = statement(
  "lock_heads",
  `SELECT session_id FROM heads WHERE session_id = ANY($1) ORDER BY session_id FOR UPDATE`,
);
// Locked last, so that a holder of these never waits for another head.
const lockFreeHeads = statement(
  "lock_free_heads",
  `SELECT session_id FROM heads WHERE session_id = ANY($1) ORDER BY session_id FOR UPDATE SKIP LOCKED`,
);

// Two groups that take the same update into two sessions share no row, so they wait for each other here. In order, as
// above.
const lockInbound = statement(
  "lock_inbound",
  `SELECT pg_advisory_xact_lock(hashtextextended(key, 0))
     FROM (SELECT unnest($1::text[]) AS key ORDER BY 1) keys`,
);

/** One round trip for everything, on a snapshot taken once the locks are held. */
const loadGroup = statement(
  "load_group",
  `SELECT 'clock' AS kind, to_json((extract(epoch FROM clock_timestamp()) * 1000)::bigint) AS row
   UNION ALL
   SELECT 'session', to_json(x) FROM (
     SELECT ${lockedColumns} FROM sessions s JOIN heads h ON h.session_id = s.id
      WHERE s.id = ANY($1) AND h.session_id = ANY($1)) x
   UNION ALL
   SELECT 'lease', to_json(x) FROM leases x WHERE session_id = ANY($1)
   UNION ALL
   SELECT 'fence', to_json(x) FROM fences x WHERE session_id = ANY($1)
   UNION ALL
   SELECT 'purge', to_json(session_id) FROM purges WHERE session_id = ANY($1)
   UNION ALL
   SELECT 'run', to_json(x) FROM runs x WHERE id = ANY($2)
   UNION ALL
   SELECT 'input', to_json(x) FROM inputs x WHERE message_id = ANY($3)
   UNION ALL
   SELECT 'input', to_json(x) FROM inputs x WHERE session_id = ANY($1) AND client_id = ANY($4)
   UNION ALL
   SELECT 'approval', to_json(x) FROM approvals x WHERE id = ANY($7)
   UNION ALL
   SELECT 'approval', to_json(x) FROM approvals x WHERE session_id = ANY($8) AND state = 'open'
   UNION ALL
   SELECT 'inbound', to_json(x) FROM (
     SELECT inbound, session_id, delivery FROM outbox WHERE inbound = ANY($9)) x
   UNION ALL
   SELECT 'blob', to_json(owner_id || ' ' || id) FROM blobs WHERE id = ANY($5)
   UNION ALL
   SELECT 'event', to_json(x) FROM (
     SELECT id, session_id, seq, at FROM events WHERE id = ANY($6)
     UNION ALL
     SELECT id, session_id, seq, at FROM deltas WHERE id = ANY($6)) x`,
);

/** Locks and loads what the group needs. Pipelines all queries; the load runs once the locks are held. */
export async function loadNeeds(
  connection: Connection,
  begin: string,
  needs: readonly GroupNeeds[],
  clockOffset: number,
): Promise<LoadedGroup> {
  const collect = <T extends string>(pick: (item: GroupNeeds) => readonly T[] | undefined): T[] => [
    ...new Set(needs.flatMap((item) => pick(item) ?? [])),
  ];
  const waitedFor = collect((item) => item.sessions);
  const ifFree = collect((item) => item.sessionsIfFree);
  const sessions = [...new Set([...waitedFor, ...ifFree])];
  const inbound = collect((item) => item.inbound);
  const lock = (query: Statement, keys: readonly string[]) =>
    keys.length === 0 ? [] : [execute(connection, query, [keys])];
  const begun = connection.query({ text: begin });
  const locks = [...lock(lockHeads, waitedFor), ...lock(lockFreeHeads, ifFree)];
  const results = await awaitAll([
    begun,
    ...locks,
    ...lock(lockInbound, inbound.toSorted()),
    execute(connection, loadGroup, [
      sessions,
      collect((item) => item.runs),
      collect((item) => item.messages),
      collect((item) => item.clientIds),
      collect((item) => item.blobs),
      collect((item) => item.events),
      collect((item) => item.approvals),
      collect((item) => (item.openApprovals === true ? item.sessions : undefined)),
      inbound,
    ]),
  ]);
  const heads = results.slice(1, 1 + locks.length).flatMap(({ rows }) => rows);
  const locked = new Set(heads.map((row) => String(row["session_id"])));
  return { ...decodeLoaded(results.at(-1)!, clockOffset), locked };
}

const loadedRow = z.object({ kind: z.string(), row: z.unknown() });
const objectRow = z.record(z.string(), z.unknown());
const fenceRow = z.object({ session_id: z.string(), kind: z.string(), fence: z.int() });
const inboundRow = z.object({ inbound: z.string(), session_id: sessionId, delivery: deliveryId });
const positionRow = z.object({ id: z.string(), session_id: z.string(), seq: z.int(), at: z.int() });

function decodeLoaded({ rows }: QueryResult, clockOffset: number): Omit<LoadedGroup, "locked"> {
  const byKind = Map.groupBy(
    rows.map((row) => loadedRow.parse(row)),
    (item) => item.kind,
  );
  const values = <T>(kind: string, decode: (value: unknown) => T): T[] =>
    (byKind.get(kind) ?? []).map((item) => decode(item.row));
  const objects = <T>(kind: string, decode: (row: Row) => T): T[] =>
    values(kind, (value) => decode(objectRow.parse(value)));
  return {
    now: z.int().parse(byKind.get("clock")?.[0]?.row) + clockOffset,
    sessions: objects("session", decodeLockedSession),
    leases: objects("lease", leaseTable.decode),
    fences: objects("fence", (row) => {
      const { session_id, kind, fence } = fenceRow.parse(row);
      return { session: session_id, kind, fence };
    }),
    runs: objects("run", runTable.decode),
    inputs: objects("input", inputTable.decode),
    approvals: objects("approval", approvalTable.decode),
    inbound: new Map(
      objects("inbound", (row) => {
        const { inbound, session_id, delivery } = inboundRow.parse(row);
        return [inbound, { session: session_id, delivery }];
      }),
    ),
    positions: new Map(
      objects("event", (row) => {
        const { id, session_id, seq, at } = positionRow.parse(row);
        return [id, { session: session_id, seq, at }];
      }),
    ),
    blobs: new Set(values("blob", (value) => z.string().parse(value))),
    purged: new Set(values("purge", (value) => z.string().parse(value))),
  };
}
