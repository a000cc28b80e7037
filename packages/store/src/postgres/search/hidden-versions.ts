import {
  alternative,
  alternativeWith,
  decodeEvent,
  type HiddenAlternative,
  hiddenAlternatives,
  type MessageId,
  type OwnerId,
  type Seq,
  type SeqRange,
  seqRange,
  type SessionId,
  sessionId,
} from "@holdfast/protocol";
import { z } from "zod";

import { viewBefore } from "../../shared/view-before.ts";
import { statement } from "../connection.ts";
import { decodeEventRow, eventColumns } from "../events.ts";
import type { ReaderPool } from "../read/reader-pool.ts";

// Branches may have versions that are in the log that they left.
const sessionsWithVersions = statement(
  "search_sessions_with_versions",
  `SELECT s.id, s.title, s.ranges, s.alternatives, l.log_id
     FROM (SELECT id AS session_id, id AS log_id FROM sessions WHERE id = ANY($2)
           UNION ALL
           SELECT session_id, log_id FROM branches WHERE log_id = ANY($2)) l
     JOIN sessions s ON s.id = l.session_id
    WHERE s.owner_id = $1 AND s.trashed_at IS NULL AND s.alternatives <> '[]'
    ORDER BY s.id = l.log_id DESC, s.id DESC`,
);
const viewChanges = statement(
  "search_view_changes",
  `SELECT e.session_id AS changed_session, ${eventColumns}
     FROM events e JOIN unnest($1::text[], $2::bigint[]) AS l (changed, left_at)
       ON e.session_id = l.changed AND e.seq = l.left_at`,
);

const json = <T>(schema: z.ZodType<T>): z.ZodType<T> =>
  z
    .string()
    .transform((text): unknown => JSON.parse(text))
    .pipe(schema);
const sessionRow = z.object({
  id: sessionId,
  title: z.string().nullable(),
  log_id: z.string(),
  ranges: json(z.array(seqRange)),
  alternatives: json(z.array(z.array(alternative))),
});

interface SessionWithVersions {
  readonly id: SessionId;
  readonly title: string | null;
  readonly hidden: readonly HiddenAlternative[];
}

export interface HiddenEntry {
  readonly session: SessionId;
  readonly title: string | null;
  readonly alternative: MessageId;
}

/** Finds entries in versions of a turn that are out of view. Remembers what it has read, for one search. */
export class HiddenVersions {
  readonly #pool: ReaderPool;
  readonly #owner: OwnerId;
  readonly #only: SessionId | undefined;
  readonly #byLog = new Map<string, readonly SessionWithVersions[]>();

  constructor(pool: ReaderPool, owner: OwnerId, only: SessionId | undefined) {
    this.#pool = pool;
    this.#owner = owner;
    this.#only = only;
  }

  /** Call it before `find` with the logs of the entries. */
  async read(logs: Iterable<string>): Promise<void> {
    const missing = [...new Set(logs)].filter((log) => !this.#byLog.has(log));
    if (missing.length === 0) return;
    const rows = await this.#pool.rows(sessionsWithVersions, [this.#owner, missing]);
    const sessions = rows
      .map((row) => sessionRow.parse(row))
      .filter(({ id }) => this.#only === undefined || id === this.#only);
    const views = await this.#readViews(sessions);
    for (const log of missing)
      this.#byLog.set(
        log,
        sessions
          .filter(({ log_id }) => log_id === log)
          .map((session) => ({
            id: session.id,
            title: session.title,
            hidden: hiddenAlternatives(session, (left) => views.get(`${session.id} ${left}`)),
          })),
      );
  }

  find(log: SessionId, seq: Seq): HiddenEntry | null {
    for (const { id, title, hidden } of this.#byLog.get(log) ?? []) {
      const contains = (ranges: readonly SeqRange[]): boolean =>
        ranges.some(
          ({ from, to, log: rangeLog = id }) =>
            rangeLog === log && seq >= from && (to === null || seq <= to),
        );
      const found = alternativeWith(hidden, contains, seq);
      if (found !== undefined) return { session: id, title, alternative: found.messageId };
    }
    return null;
  }

  async #readViews(
    sessions: readonly z.infer<typeof sessionRow>[],
  ): Promise<ReadonlyMap<string, readonly SeqRange[]>> {
    const changes = sessions.flatMap(({ id, alternatives }) =>
      alternatives.flat().flatMap(({ left }) => (left === undefined ? [] : [{ id, left }])),
    );
    const views = new Map<string, readonly SeqRange[]>();
    if (changes.length === 0) return views;
    const values = [changes.map(({ id }) => id), changes.map(({ left }) => left)];
    for (const row of await this.#pool.rows(viewChanges, values)) {
      const read = decodeEventRow(row);
      const decoded = read.status === "intact" ? decodeEvent(read.event) : undefined;
      const ranges = decoded?.kind === "known" ? viewBefore(decoded.event) : undefined;
      if (decoded?.kind !== "known" || ranges === undefined) continue;
      views.set(`${String(row["changed_session"])} ${decoded.event.seq}`, ranges);
    }
    return views;
  }
}
