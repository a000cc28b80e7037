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

import { flag, int, intOrNull, table, text, textOrNull, word } from "./columns.ts";
import type { Connection } from "../connection.ts";

/** A session with what its commits need to know beside the row that the port shows. */
export interface StoredSession {
  readonly key: number;
  readonly row: SessionRow;
  /** Whether head, activity and open deltas are kept in `live`. */
  readonly live: boolean;
  readonly lastDelta: number | null;
  readonly lastDeltaId: string | null;
}

/** What a session's row is made of. Every read of one joins its live part. */
const selected = {
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
const names = Object.keys(selected) as (keyof typeof selected)[];
/** Where each of them stands. */
const at = Object.fromEntries(names.map((name, place) => [name, place])) as Record<
  keyof typeof selected,
  number
>;

const { head, activityAt } = selected;

/** A session as a client sees it, each of its names with the SQL that writes it as JSON. */
const shown: Readonly<Record<keyof Omit<SessionView, "origin">, string>> = {
  id: quoted("s.id"),
  owner: quoted("s.owner_id"),
  head,
  version: "s.version",
  revision: "s.revision",
  createdAt: "s.created_at",
  activityAt,
  sortAt: "s.sort_at",
  title: quoted("s.title"),
  titleSource: quoted("s.title_source"),
  preview: quoted("s.preview"),
  messageCount: "s.message_count",
  model: quoted("s.model"),
  workspace: quoted("s.workspace"),
  pinned: truth("s.pinned"),
  archived: truth("s.archived"),
  project: quoted("s.project"),
  // They are kept as JSON.
  tags: "s.tags",
  trashedAt: quoted("s.trashed_at"),
  epoch: "s.epoch",
  liveRun: quoted("s.live_run"),
  liveState: quoted("s.live_state"),
  lastState: quoted("s.last_state"),
};

function quoted(column: string): string {
  return `json_quote(${column})`;
}

function truth(column: string): string {
  return `iif(${column}, 'true', 'false')`;
}

const template = Object.keys(shown).map((name) => `"${name}":%s`);
const origin = `iif(s.origin_id IS NULL, '', format(',"origin":{"sessionId":%s,"seq":%s}', ${quoted("s.origin_id")}, s.origin_seq))`;

/** The text of what `viewSession` makes of a row, without a row in between. */
export const sessionViewJson = `format('{${template.join(",")}%s}', ${Object.values(shown).join(", ")}, ${origin})`;

/** Made in SQLite, a row is one text: cheaper to make, to hand to another thread and to take apart than thirty values. */
export const sessionJson = `json_array(${Object.values(selected).join(", ")})`;
export const sessionTables = "sessions s LEFT JOIN live l ON l.session_key = s.key";

const bySession = `
  SELECT ${sessionJson} AS session, (SELECT d.id FROM deltas d WHERE d.pos = l.last_delta) AS last_delta_id
    FROM ${sessionTables} WHERE s.id = ?`;

/** From the text that `sessionJson` makes. */
export function decodeSession(json: string): Omit<StoredSession, "lastDeltaId"> {
  const row: unknown = JSON.parse(json);
  if (!isRow(row)) throw new Error("A session's row has other columns.");
  return {
    key: int(row, at.key),
    live: flag(row, at.live),
    lastDelta: intOrNull(row, at.lastDelta),
    row: {
      id: text<SessionId>(row, at.id),
      owner: text<OwnerId>(row, at.owner),
      head: int(row, at.head) as Seq,
      version: int(row, at.version),
      revision: int(row, at.revision),
      createdAt: int(row, at.createdAt),
      activityAt: int(row, at.activityAt),
      sortAt: int(row, at.sortAt),
      title: textOrNull(row, at.title),
      titleSource: word(row, at.titleSource, titleSources),
      preview: text(row, at.preview),
      messageCount: int(row, at.messageCount),
      model: textOrNull(row, at.model),
      workspace: textOrNull(row, at.workspace),
      pinned: flag(row, at.pinned),
      archived: flag(row, at.archived),
      project: textOrNull(row, at.project),
      tags: parsedTags(text(row, at.tags)),
      trashedAt: intOrNull(row, at.trashedAt),
      ranges: parsedRanges(text(row, at.ranges)),
      origin: originOf(row),
      epoch: int(row, at.epoch),
      liveRun: textOrNull<RunId>(row, at.liveRun),
      liveState: word(row, at.liveState, runStates),
      lastState: word(row, at.lastState, runStates),
      openDeltas: int(row, at.openDeltas),
    },
  };
}

/** Each cell is checked when it is taken out. */
function isRow(value: unknown): value is readonly SQLOutputValue[] {
  return Array.isArray(value) && value.length === names.length;
}

const titleSources = new Set(titleSource.options);
const runStates = new Set(runState.options);

function originOf(row: readonly SQLOutputValue[]): SessionRow["origin"] {
  const sessionId = textOrNull<SessionId>(row, at.originId);
  return sessionId === null ? null : { sessionId, seq: int(row, at.originSeq) as Seq };
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
  if (row === undefined) return null;
  const lastDeltaId = textOrNull(row, "last_delta_id");
  return { ...decodeSession(text(row, "session")), lastDeltaId };
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
