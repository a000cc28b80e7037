import type { Audit, Derived, LeaseRow, RawEvent } from "@holdfast/engine";
import type { SessionId } from "@holdfast/protocol";

import { blobIdOf } from "../../schema/blob-id.ts";
import type { Row } from "../connection.ts";
import { decodeApproval } from "../rows/approvals.ts";
import {
  decodeBlobRow,
  decodeInput,
  decodeLane,
  decodePurge,
  decodeRun,
  decodeUsage,
} from "../rows/tables.ts";
import { decodeEventRow, eventColumns } from "../rows/events.ts";
import { decodeLease } from "../rows/lease-row.ts";
import { decodeMark, decodeMemoryTry } from "../rows/memory-row.ts";
import { decodeOutbox } from "../rows/outbox.ts";
import { decodeSession, sessionColumns } from "../rows/sessions.ts";
import { execute, type Statement, statement, type SqlValue } from "../statement.ts";
import { checkIntegrity, findOrphans } from "./damage.ts";
import type { ReaderPool } from "./reader-pool.ts";

const pageSize = 500;

// A session that has lost its head is shown with an empty one, so that a rebuild gives it back.
const sessionPage = statement(
  "audit_sessions",
  `SELECT ${sessionColumns} FROM (SELECT * FROM sessions WHERE id > $1 ORDER BY id LIMIT $2) s
     LEFT JOIN LATERAL (
       SELECT coalesce(max(head), 0) AS head, coalesce(max(activity_at), 0) AS activity_at,
              coalesce(max(open_deltas), 0) AS open_deltas, coalesce(max(settled_upto), 0) AS settled_upto
         FROM heads WHERE session_id = s.id) h ON true
    ORDER BY s.id`,
);
const eventPage = statement(
  "audit_events",
  `(SELECT ${eventColumns}, 'log' AS place FROM events WHERE session_id = $1 AND seq > $2 ORDER BY seq LIMIT $3)
   UNION ALL
   (SELECT ${eventColumns}, CASE WHEN seq <= coalesce(
       (SELECT settled_upto FROM heads WHERE session_id = $1), 0) THEN 'pruned' ELSE 'delta' END
      FROM deltas WHERE session_id = $1 AND seq > $2 ORDER BY seq LIMIT $3)
   ORDER BY seq LIMIT $3`,
);
const leasePage = statement(
  "audit_leases",
  `SELECT * FROM leases WHERE (session_id, kind) > ($1, $2) ORDER BY session_id, kind LIMIT $3`,
);
// One blob at a time: each may have megabytes.
const blobPage = statement(
  "audit_blob",
  `SELECT * FROM blobs WHERE (owner_id, id) > ($1, $2) ORDER BY owner_id, id LIMIT 1`,
);
const purgePage = statement(
  "audit_purges",
  `SELECT * FROM purges WHERE session_id > $1 ORDER BY session_id LIMIT $2`,
);

type AuditReads = Omit<Audit, "replaceDerived" | "replaceBlobRefs">;

export function createAuditReads(readers: ReaderPool): AuditReads {
  const rows = (what: Statement, ...values: SqlValue[]) => readers.rows(what, values);
  return {
    async *sessions() {
      for await (const row of pages((last) => rows(sessionPage, textOf(last, "id"), pageSize))) {
        yield decodeSession(row).row;
      }
    },
    async *events(session) {
      const next = (last: Row | undefined) =>
        rows(eventPage, session, Number(last?.["seq"] ?? -1), pageSize);
      for await (const row of pages(next)) yield rawEventOf(session, row);
    },
    derived: (session) => readDerived(readers, session),
    async *leases() {
      const next = (last: Row | undefined) =>
        rows(leasePage, textOf(last, "session_id"), textOf(last, "kind"), pageSize);
      for await (const row of pages(next)) yield decodeLease(row) satisfies LeaseRow;
    },
    async *blobs() {
      const next = (last: Row | undefined) =>
        rows(blobPage, textOf(last, "owner_id"), textOf(last, "id"));
      for await (const row of pages(next)) {
        const { bytes } = row;
        const intact = bytes instanceof Uint8Array && blobIdOf(bytes) === row["id"];
        yield { ...decodeBlobRow(row), intact };
      }
    },
    async *purges() {
      for await (const row of pages((last) =>
        rows(purgePage, textOf(last, "session_id"), pageSize),
      )) {
        yield decodePurge(row);
      }
    },
    orphans: () => findOrphans(readers),
    integrity: () => checkIntegrity(readers),
  };
}

/** Page after page, each from where the last ended. */
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

function rawEventOf(session: SessionId, row: Row): RawEvent {
  const read = decodeEventRow(row);
  const place = row["place"] === "log" ? "log" : row["place"] === "delta" ? "delta" : "pruned";
  if (read.status === "intact") return { session, seq: read.event.seq, event: read.event, place };
  return { session, seq: read.seq, event: null, problem: read.problem, place };
}

const derivedSession = statement(
  "derived_session",
  `SELECT ${sessionColumns} FROM sessions s JOIN heads h ON h.session_id = s.id WHERE s.id = $1`,
);
const derivedRuns = statement(
  "derived_runs",
  `SELECT * FROM runs WHERE session_id = $1 ORDER BY id`,
);
const derivedInputs = statement(
  "derived_inputs",
  `SELECT * FROM inputs WHERE session_id = $1 ORDER BY seq`,
);
const derivedApprovals = statement(
  "derived_approvals",
  `SELECT * FROM approvals WHERE session_id = $1 ORDER BY id`,
);
const derivedMarks = statement(
  "derived_marks",
  `SELECT * FROM marks WHERE session_id = $1 ORDER BY seq`,
);
const derivedMemoryTries = statement(
  "derived_memory_tries",
  `SELECT * FROM memory_tries WHERE session_id = $1`,
);
const derivedOutbox = statement(
  "derived_outbox",
  `SELECT * FROM outbox WHERE session_id = $1 ORDER BY delivery, chunk`,
);
const derivedLanes = statement(
  "derived_lanes",
  `SELECT * FROM lanes WHERE session_id = $1 ORDER BY owner_id, lane`,
);
const derivedUsage = statement(
  "derived_usage",
  `SELECT * FROM usage WHERE session_id = $1 ORDER BY seq`,
);

function readDerived(readers: ReaderPool, id: SessionId): Promise<Derived | null> {
  return readers.snapshot(async (session) => {
    const rows = async (what: Statement) => (await execute(session, what, [id])).rows;
    const [row] = await rows(derivedSession);
    if (row === undefined) return null;
    return {
      session: decodeSession(row).row,
      runs: (await rows(derivedRuns)).map(decodeRun),
      inputs: (await rows(derivedInputs)).map(decodeInput),
      lanes: (await rows(derivedLanes)).map(decodeLane),
      approvals: (await rows(derivedApprovals)).map(decodeApproval),
      marks: (await rows(derivedMarks)).map(decodeMark),
      memoryTries: (await rows(derivedMemoryTries)).map(decodeMemoryTry),
      outbox: (await rows(derivedOutbox)).map(decodeOutbox),
      usage: (await rows(derivedUsage)).map(decodeUsage),
    };
  });
}
