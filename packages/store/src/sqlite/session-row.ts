import type { SessionRow } from "@holdfast/engine";
import {
  type OwnerId,
  type RunId,
  runState,
  type Seq,
  type SeqRange,
  seqRange,
  type SessionId,
  titleSource,
} from "@holdfast/protocol";
import { z } from "zod";

import { flag, int, intOrNull, table, text, textOrNull } from "./columns.ts";
import type { Connection, Row } from "./connection.ts";

/** A session with what its commits need to know beside the row that the port shows. */
export interface StoredSession {
  readonly key: number;
  readonly row: SessionRow;
  /** Whether head, activity and open deltas are kept in `live`. */
  readonly live: boolean;
  readonly lastDelta: number | null;
  readonly lastDeltaId: string | null;
}

/** Every read of a session joins its live part. */
export const sessionColumns = `
  s.key, s.id, s.owner_id, s.version, s.revision, s.created_at, s.sort_at, s.title, s.title_source,
  s.preview, s.message_count, s.model, s.workspace, s.pinned, s.archived, s.project, s.tags, s.trashed_at,
  s.ranges, s.origin_id, s.origin_seq, s.epoch, s.live_run, s.live_state, s.last_state,
  coalesce(l.head, s.head) AS head, coalesce(l.activity_at, s.activity_at) AS activity_at,
  coalesce(l.open_deltas, 0) AS open_deltas, l.last_delta, l.session_key IS NOT NULL AS live,
  (SELECT d.id FROM deltas d WHERE d.pos = l.last_delta) AS last_delta_id`;

const bySession = `
  SELECT ${sessionColumns} FROM sessions s LEFT JOIN live l ON l.session_key = s.key WHERE s.id = ?`;

export function decodeSession(row: Row): StoredSession {
  return {
    key: int(row, "key"),
    live: flag(row, "live"),
    lastDelta: intOrNull(row, "last_delta"),
    lastDeltaId: textOrNull(row, "last_delta_id"),
    row: {
      id: text<SessionId>(row, "id"),
      owner: text<OwnerId>(row, "owner_id"),
      head: int(row, "head") as Seq,
      version: int(row, "version"),
      revision: int(row, "revision"),
      createdAt: int(row, "created_at"),
      activityAt: int(row, "activity_at"),
      sortAt: int(row, "sort_at"),
      title: textOrNull(row, "title"),
      titleSource: titleSources.parse(row["title_source"]),
      preview: text(row, "preview"),
      messageCount: int(row, "message_count"),
      model: textOrNull(row, "model"),
      workspace: textOrNull(row, "workspace"),
      pinned: flag(row, "pinned"),
      archived: flag(row, "archived"),
      project: textOrNull(row, "project"),
      tags: parsedTags(text(row, "tags")),
      trashedAt: intOrNull(row, "trashed_at"),
      ranges: parsedRanges(text(row, "ranges")),
      origin: originOf(row),
      epoch: int(row, "epoch"),
      liveRun: textOrNull<RunId>(row, "live_run"),
      liveState: runStates.parse(row["live_state"]),
      lastState: runStates.parse(row["last_state"]),
      openDeltas: int(row, "open_deltas"),
    },
  };
}

const titleSources = titleSource.nullable();
const runStates = runState.nullable();

function originOf(row: Row): SessionRow["origin"] {
  const sessionId = textOrNull<SessionId>(row, "origin_id");
  return sessionId === null ? null : { sessionId, seq: int(row, "origin_seq") as Seq };
}

const remembered = 1_000;

/** Most sessions have the same few ranges and tags: each text is parsed once. */
function remembering<T>(parse: (stored: string) => T): (stored: string) => T {
  const known = new Map<string, T>();
  return (stored) => {
    const found = known.get(stored);
    if (found !== undefined) return found;
    if (known.size >= remembered) known.clear();
    const value = parse(stored);
    known.set(stored, value);
    return value;
  };
}

const storedRanges = z.array(seqRange);
const storedTags = z.array(z.string());
const parsedRanges = remembering((value): readonly SeqRange[] =>
  storedRanges.parse(JSON.parse(value)),
);
const parsedTags = remembering((value): readonly string[] => storedTags.parse(JSON.parse(value)));

export function readSession(connection: Connection, id: string): StoredSession | null {
  const row = connection.sql(bySession).get(id);
  return row === undefined ? null : decodeSession(row);
}

const sessions = table<SessionRow>("sessions", ["id"], {
  id: (row) => row.id,
  owner_id: (row) => row.owner,
  head: (row) => row.head,
  version: (row) => row.version,
  revision: (row) => row.revision,
  created_at: (row) => row.createdAt,
  activity_at: (row) => row.activityAt,
  sort_at: (row) => row.sortAt,
  title: (row) => row.title,
  title_source: (row) => row.titleSource,
  preview: (row) => row.preview,
  message_count: (row) => row.messageCount,
  model: (row) => row.model,
  workspace: (row) => row.workspace,
  pinned: (row) => Number(row.pinned),
  archived: (row) => Number(row.archived),
  project: (row) => row.project,
  tags: (row) => JSON.stringify(row.tags),
  trashed_at: (row) => row.trashedAt,
  ranges: (row) => JSON.stringify(row.ranges),
  origin_id: (row) => row.origin?.sessionId ?? null,
  origin_seq: (row) => row.origin?.seq ?? null,
  epoch: (row) => row.epoch,
  live_run: (row) => row.liveRun,
  live_state: (row) => row.liveState,
  last_state: (row) => row.lastState,
});

export function insertSession(connection: Connection, row: SessionRow): number {
  return sessions.insert(connection, row, 0);
}

export function updateSession(connection: Connection, row: SessionRow): void {
  sessions.update(connection, row, 0);
}

const shelves = { active: 0, archived: 1, trash: 2 };

function shelfOf(row: SessionRow): number {
  if (row.trashedAt !== null) return shelves.trash;
  return row.archived ? shelves.archived : shelves.active;
}

/** Tags carry the list's order with them, so that a list by tag is one scan too. */
export function writeTags(connection: Connection, key: number, row: SessionRow): void {
  connection.sql("DELETE FROM session_tags WHERE session_key = ?").run(key);
  const add = connection.sql("INSERT INTO session_tags VALUES (?, ?, ?, ?, ?, ?)");
  for (const tag of row.tags) add.run(row.owner, tag, shelfOf(row), row.sortAt, row.id, key);
}
