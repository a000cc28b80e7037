import type { SQLOutputValue } from "node:sqlite";

import type { SessionRow } from "@holdfast/engine";
import {
  type OwnerId,
  type RunId,
  runState,
  type Seq,
  type SeqRange,
  seqRange,
  type SessionId,
  type SessionView,
  titleSource,
} from "@holdfast/protocol";
import { z } from "zod";

import { bool, int, intOrNull, defineTable, text, textOrNull, enumText } from "./columns.ts";
import type { Connection } from "../connection.ts";

/** A session's row, and what its commits need to know besides. */
export interface StoredSession {
  readonly key: number;
  readonly row: SessionRow;
  /** Whether head, activity and open deltas are in `live`. */
  readonly live: boolean;
  readonly lastDelta: number | null;
  readonly lastDeltaId: string | null;
}

/** The columns of a session's row. Every read joins its live part. */
const sessionColumns = {
  key: "s.key",
  id: "s.id",
  owner: "s.owner_id",
  head: "coalesce(l.head, s.head)",
  version: "s.version",
  revision: "s.revision",
  createdAt: "s.created_at",
  activityAt: "coalesce(l.activity_at, s.activity_at)",
  sortAt: "s.sort_at",
  title: "s.title",
  titleSource: "s.title_source",
  preview: "s.preview",
  messageCount: "s.message_count",
  model: "s.model",
  workspace: "s.workspace",
  pinned: "s.pinned",
  archived: "s.archived",
  project: "s.project",
  tags: "s.tags",
  trashedAt: "s.trashed_at",
  ranges: "s.ranges",
  originId: "s.origin_id",
  originSeq: "s.origin_seq",
  epoch: "s.epoch",
  liveRun: "s.live_run",
  liveState: "s.live_state",
  lastState: "s.last_state",
  openDeltas: "coalesce(l.open_deltas, 0)",
  live: "l.session_key IS NOT NULL",
  lastDelta: "l.last_delta",
};
const columnNames = Object.keys(sessionColumns) as (keyof typeof sessionColumns)[];
const columnIndex = Object.fromEntries(columnNames.map((name, index) => [name, index])) as Record<
  keyof typeof sessionColumns,
  number
>;

const { head, activityAt } = sessionColumns;

/** A session as a client sees it: each field with the SQL that renders it as JSON. */
const viewColumns: Readonly<Record<keyof Omit<SessionView, "origin">, string>> = {
  id: jsonText("s.id"),
  owner: jsonText("s.owner_id"),
  head,
  version: "s.version",
  revision: "s.revision",
  createdAt: "s.created_at",
  activityAt,
  sortAt: "s.sort_at",
  title: jsonText("s.title"),
  titleSource: jsonText("s.title_source"),
  preview: jsonText("s.preview"),
  messageCount: "s.message_count",
  model: jsonText("s.model"),
  workspace: jsonText("s.workspace"),
  pinned: jsonBool("s.pinned"),
  archived: jsonBool("s.archived"),
  project: jsonText("s.project"),
  // Stored as JSON.
  tags: "s.tags",
  trashedAt: jsonText("s.trashed_at"),
  epoch: "s.epoch",
  liveRun: jsonText("s.live_run"),
  liveState: jsonText("s.live_state"),
  lastState: jsonText("s.last_state"),
};

function jsonText(column: string): string {
  return `json_quote(${column})`;
}

function jsonBool(column: string): string {
  return `iif(${column}, 'true', 'false')`;
}

const viewTemplate = Object.keys(viewColumns).map((name) => `"${name}":%s`);
const originJson = `iif(s.origin_id IS NULL, '', format(',"origin":{"sessionId":%s,"seq":%s}', ${jsonText("s.origin_id")}, s.origin_seq))`;

/** The JSON text of `viewSession`, without building a row in between. */
export const sessionViewJson = `format('{${viewTemplate.join(",")}%s}', ${Object.values(viewColumns).join(", ")}, ${originJson})`;

/**
 * SQLite renders the row as one text, which is cheaper to build, to pass between threads and to parse than thirty
 * values.
 */
export const sessionJson = `json_array(${Object.values(sessionColumns).join(", ")})`;
export const sessionTables = "sessions s LEFT JOIN live l ON l.session_key = s.key";

const sessionById = `
  SELECT ${sessionJson} AS session, (SELECT d.id FROM deltas d WHERE d.pos = l.last_delta) AS last_delta_id
    FROM ${sessionTables} WHERE s.id = ?`;

/** Decodes the text of `sessionJson`. */
export function decodeSession(json: string): Omit<StoredSession, "lastDeltaId"> {
  const row: unknown = JSON.parse(json);
  if (!isSessionRow(row)) throw new Error("A session's row has other columns.");
  return {
    key: int(row, columnIndex.key),
    live: bool(row, columnIndex.live),
    lastDelta: intOrNull(row, columnIndex.lastDelta),
    row: {
      id: text<SessionId>(row, columnIndex.id),
      owner: text<OwnerId>(row, columnIndex.owner),
      head: int(row, columnIndex.head) as Seq,
      version: int(row, columnIndex.version),
      revision: int(row, columnIndex.revision),
      createdAt: int(row, columnIndex.createdAt),
      activityAt: int(row, columnIndex.activityAt),
      sortAt: int(row, columnIndex.sortAt),
      title: textOrNull(row, columnIndex.title),
      titleSource: enumText(row, columnIndex.titleSource, titleSources),
      preview: text(row, columnIndex.preview),
      messageCount: int(row, columnIndex.messageCount),
      model: textOrNull(row, columnIndex.model),
      workspace: textOrNull(row, columnIndex.workspace),
      pinned: bool(row, columnIndex.pinned),
      archived: bool(row, columnIndex.archived),
      project: textOrNull(row, columnIndex.project),
      tags: parsedTags(text(row, columnIndex.tags)),
      trashedAt: intOrNull(row, columnIndex.trashedAt),
      ranges: parsedRanges(text(row, columnIndex.ranges)),
      origin: originOf(row),
      epoch: int(row, columnIndex.epoch),
      liveRun: textOrNull<RunId>(row, columnIndex.liveRun),
      liveState: enumText(row, columnIndex.liveState, runStates),
      lastState: enumText(row, columnIndex.lastState, runStates),
      openDeltas: int(row, columnIndex.openDeltas),
    },
  };
}

/** Each cell is checked when it is read. */
function isSessionRow(value: unknown): value is readonly SQLOutputValue[] {
  return Array.isArray(value) && value.length === columnNames.length;
}

const titleSources = new Set(titleSource.options);
const runStates = new Set(runState.options);

function originOf(row: readonly SQLOutputValue[]): SessionRow["origin"] {
  const sessionId = textOrNull<SessionId>(row, columnIndex.originId);
  return sessionId === null ? null : { sessionId, seq: int(row, columnIndex.originSeq) as Seq };
}

const maxMemoizedTexts = 1_000;

/** Most sessions share the same few ranges and tags, so each text is parsed once. */
function memoizeParse<T>(parse: (stored: string) => T): (stored: string) => T {
  const cache = new Map<string, T>();
  return (stored) => {
    const cached = cache.get(stored);
    if (cached !== undefined) return cached;
    if (cache.size >= maxMemoizedTexts) cache.clear();
    const value = parse(stored);
    cache.set(stored, value);
    return value;
  };
}

const storedRanges = z.array(seqRange);
const storedTags = z.array(z.string());
const parsedRanges = memoizeParse((value): readonly SeqRange[] =>
  storedRanges.parse(JSON.parse(value)),
);
const parsedTags = memoizeParse((value): readonly string[] => storedTags.parse(JSON.parse(value)));

export function readSession(connection: Connection, id: string): StoredSession | null {
  const row = connection.sql(sessionById).get(id);
  if (row === undefined) return null;
  const lastDeltaId = textOrNull(row, "last_delta_id");
  return { ...decodeSession(text(row, "session")), lastDeltaId };
}

const sessionsTable = defineTable<SessionRow>("sessions", ["id"], {
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
  return sessionsTable.insert(connection, row, 0);
}

export function updateSession(connection: Connection, row: SessionRow): void {
  sessionsTable.update(connection, row, 0);
}

const shelves = { active: 0, archived: 1, trash: 2 };

function shelfOf(row: SessionRow): number {
  if (row.trashedAt !== null) return shelves.trash;
  return row.archived ? shelves.archived : shelves.active;
}

/** Tags carry a copy of the list's order, so that a list by tag is one scan too. */
export function writeTags(connection: Connection, key: number, row: SessionRow): void {
  connection.sql("DELETE FROM session_tags WHERE session_key = ?").run(key);
  const add = connection.sql("INSERT INTO session_tags VALUES (?, ?, ?, ?, ?, ?)");
  for (const tag of row.tags) add.run(row.owner, tag, shelfOf(row), row.sortAt, row.id, key);
}
