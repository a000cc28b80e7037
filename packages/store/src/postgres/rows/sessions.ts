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

import type { Row } from "../connection.ts";

/** A session's row, and what its commits need to know besides. */
export interface StoredSession {
  readonly row: SessionRow;
  /** Deltas up to this seq are settled. */
  readonly settledUpto: number;
}

/** Every read of a session joins its head. */
export const sessionColumns = `
  s.id, s.owner_id, h.head, s.version, s.revision, s.created_at, h.activity_at, s.sort_at, s.title,
  s.title_source, s.preview, s.message_count, s.model, s.workspace, s.pinned, s.archived, s.project, s.tags,
  s.trashed_at, s.ranges, s.origin_id, s.origin_seq, s.epoch, s.live_run, s.live_state, s.last_state,
  h.open_deltas, h.settled_upto`;

const sessionShape = z.object({
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
  pinned: z.boolean(),
  archived: z.boolean(),
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
  settled_upto: z.int(),
});
const storedTags = z.array(z.string());
const storedRanges = z.array(seqRange);

export function decodeSession(row: Row): StoredSession {
  const { settled_upto, ...stored } = sessionShape.parse(row);
  const { origin_id, origin_seq } = stored;
  return {
    settledUpto: settled_upto,
    row: {
      id: stored.id,
      owner: stored.owner_id,
      head: stored.head,
      version: stored.version,
      revision: stored.revision,
      createdAt: stored.created_at,
      activityAt: stored.activity_at,
      sortAt: stored.sort_at,
      title: stored.title,
      titleSource: stored.title_source,
      preview: stored.preview,
      messageCount: stored.message_count,
      model: stored.model,
      workspace: stored.workspace,
      pinned: stored.pinned,
      archived: stored.archived,
      project: stored.project,
      tags: storedTags.parse(JSON.parse(stored.tags)),
      trashedAt: stored.trashed_at,
      ranges: storedRanges.parse(JSON.parse(stored.ranges)),
      origin:
        origin_id === null || origin_seq === null
          ? null
          : { sessionId: origin_id, seq: origin_seq },
      epoch: stored.epoch,
      liveRun: stored.live_run,
      liveState: stored.live_state,
      lastState: stored.last_state,
      openDeltas: stored.open_deltas,
    },
  };
}

/** The columns of `sessions`; head, activity and open deltas go to `heads`. */
export function encodeSession(row: SessionRow): Row {
  return {
    id: row.id,
    owner_id: row.owner,
    version: row.version,
    revision: row.revision,
    created_at: row.createdAt,
    sort_at: row.sortAt,
    title: row.title,
    title_source: row.titleSource,
    preview: row.preview,
    message_count: row.messageCount,
    model: row.model,
    workspace: row.workspace,
    pinned: row.pinned,
    archived: row.archived,
    project: row.project,
    tags: JSON.stringify(row.tags),
    trashed_at: row.trashedAt,
    ranges: JSON.stringify(row.ranges),
    origin_id: row.origin?.sessionId ?? null,
    origin_seq: row.origin?.seq ?? null,
    epoch: row.epoch,
    live_run: row.liveRun,
    live_state: row.liveState,
    last_state: row.lastState,
  };
}

export const shelves = { active: 0, archived: 1, trash: 2 } as const;

function shelfOf(row: SessionRow): number {
  if (row.trashedAt !== null) return shelves.trash;
  return row.archived ? shelves.archived : shelves.active;
}

/** Tags carry a copy of the list's order, so that a list by tag is one scan too. */
export function encodeTags(row: SessionRow): Row[] {
  return row.tags.map((tag) => ({
    owner_id: row.owner,
    tag,
    shelf: shelfOf(row),
    sort_at: row.sortAt,
    session_id: row.id,
  }));
}
