import type { SessionRow } from "@holdfast/engine";
import {
  ownerId,
  runId,
  runState,
  seq,
  seqRange,
  sessionId,
  titleSource,
} from "@holdfast/protocol";
import { z } from "zod";

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

export const flag = z.union([z.literal(0), z.literal(1)]).transform((value) => value === 1);
const storedRanges = z.array(seqRange);
const storedTags = z.array(z.string());

const shape = z.object({
  key: z.int(),
  id: sessionId,
  owner_id: ownerId,
  head: seq,
  version: z.int(),
  revision: z.int(),
  created_at: z.int(),
  activity_at: z.int(),
  sort_at: z.int(),
  title: z.string().nullable(),
  title_source: titleSource.nullable(),
  preview: z.string(),
  message_count: z.int(),
  model: z.string().nullable(),
  workspace: z.string().nullable(),
  pinned: flag,
  archived: flag,
  project: z.string().nullable(),
  tags: z.string(),
  trashed_at: z.int().nullable(),
  ranges: z.string(),
  origin_id: sessionId.nullable(),
  origin_seq: seq.nullable(),
  epoch: z.int(),
  live_run: runId.nullable(),
  live_state: runState.nullable(),
  last_state: runState.nullable(),
  open_deltas: z.int(),
  last_delta: z.int().nullable(),
  last_delta_id: z.string().nullable(),
  live: flag,
});

export function decodeSession(row: Row): StoredSession {
  const { key, live, last_delta, last_delta_id, ...rest } = shape.parse(row);
  const { origin_id, origin_seq } = rest;
  return {
    key,
    live,
    lastDelta: last_delta,
    lastDeltaId: last_delta_id,
    row: {
      id: rest.id,
      owner: rest.owner_id,
      head: rest.head,
      version: rest.version,
      revision: rest.revision,
      createdAt: rest.created_at,
      activityAt: rest.activity_at,
      sortAt: rest.sort_at,
      title: rest.title,
      titleSource: rest.title_source,
      preview: rest.preview,
      messageCount: rest.message_count,
      model: rest.model,
      workspace: rest.workspace,
      pinned: rest.pinned,
      archived: rest.archived,
      project: rest.project,
      tags: storedTags.parse(JSON.parse(rest.tags)),
      trashedAt: rest.trashed_at,
      ranges: storedRanges.parse(JSON.parse(rest.ranges)),
      origin:
        origin_id === null || origin_seq === null
          ? null
          : { sessionId: origin_id, seq: origin_seq },
      epoch: rest.epoch,
      liveRun: rest.live_run,
      liveState: rest.live_state,
      lastState: rest.last_state,
      openDeltas: rest.open_deltas,
    },
  };
}

export function readSession(connection: Connection, id: string): StoredSession | null {
  const row = connection.sql(bySession).get(id);
  return row === undefined ? null : decodeSession(row);
}

const columns = [
  ...["owner_id", "head", "version", "revision", "created_at", "activity_at", "sort_at", "title"],
  ...[
    "title_source",
    "preview",
    "message_count",
    "model",
    "workspace",
    "pinned",
    "archived",
    "project",
  ],
  ...["tags", "trashed_at", "ranges", "origin_id", "origin_seq", "epoch", "live_run", "live_state"],
  ...["last_state", "id"],
];
const insert = `INSERT INTO sessions (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`;
const update = `UPDATE sessions SET ${columns
  .slice(0, -1)
  .map((column) => `${column} = ?`)
  .join(", ")} WHERE id = ?`;

function valuesOf(row: SessionRow): (string | number | null)[] {
  return [
    ...[row.owner, row.head, row.version, row.revision, row.createdAt, row.activityAt, row.sortAt],
    ...[row.title, row.titleSource, row.preview, row.messageCount, row.model, row.workspace],
    ...[
      Number(row.pinned),
      Number(row.archived),
      row.project,
      JSON.stringify(row.tags),
      row.trashedAt,
    ],
    ...[
      JSON.stringify(row.ranges),
      row.origin?.sessionId ?? null,
      row.origin?.seq ?? null,
      row.epoch,
    ],
    ...[row.liveRun, row.liveState, row.lastState, row.id],
  ];
}

export function insertSession(connection: Connection, row: SessionRow): number {
  return Number(connection.sql(insert).run(...valuesOf(row)).lastInsertRowid);
}

export function updateSession(connection: Connection, row: SessionRow): void {
  connection.sql(update).run(...valuesOf(row));
}

const shelves = { active: 0, archived: 1, trash: 2 };

export function shelfOf(row: SessionRow): number {
  if (row.trashedAt !== null) return shelves.trash;
  return row.archived ? shelves.archived : shelves.active;
}

/** Tags carry the list's order with them, so that a list by tag is one scan too. */
export function writeTags(connection: Connection, key: number, row: SessionRow): void {
  connection.sql("DELETE FROM session_tags WHERE session_key = ?").run(key);
  const add = connection.sql("INSERT INTO session_tags VALUES (?, ?, ?, ?, ?, ?)");
  for (const tag of row.tags) add.run(row.owner, tag, shelfOf(row), row.sortAt, row.id, key);
}
