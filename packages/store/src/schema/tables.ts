import { createHash } from "node:crypto";
import { z } from "zod";
import { crc32 } from "node:zlib";
import type {
  ApprovalRow,
  BlobRow,
  InputRow,
  LaneRow,
  LeaseRow,
  MarkRow,
  MemoryTryRow,
  OutboxRow,
  PurgeRow,
  RegisterRow,
  RequestRow,
  RunRow,
  SessionRow,
  UsageRow,
} from "@holdfast/engine";
import {
  alternative,
  approvalDecision,
  approvalDetails,
  approvalId,
  attachedPart,
  attachment,
  type BlobId,
  blobId,
  callId,
  deliveryId,
  deliveryKind,
  fence,
  inputMode,
  json as jsonValue,
  laneKey,
  messageId,
  outboxState,
  ownerId,
  quotedRanges,
  rights,
  runId,
  runState,
  seq,
  seqRange,
  sessionId,
  sessionMode,
  taintSources,
  titleSource,
  type EventId,
  eventId,
  type RunId,
  type Seq,
  type StoredEvent,
} from "@holdfast/protocol";
import { holderSchema } from "./holder.ts";
import {
  bool,
  describeTable,
  group,
  int,
  json,
  nullable,
  opaqueText,
  option,
  repeatedJson,
  session,
  sticky,
  text,
} from "./columns.ts";

const tags: z.ZodType<SessionRow["tags"]> = z.array(z.string());
const ranges: z.ZodType<SessionRow["ranges"]> = z.array(seqRange);
const alternatives: z.ZodType<SessionRow["alternatives"]> = z.array(z.array(alternative));

export const sessions = describeTable<SessionRow>("sessions", ["id"], {
  id: text("id", sessionId),
  owner: text("owner_id", ownerId),
  head: int("head", seq),
  version: int("version"),
  revision: int("revision"),
  createdAt: int("created_at"),
  activityAt: int("activity_at"),
  sortAt: int("sort_at"),
  title: nullable(text("title")),
  titleSource: nullable(option("title_source", titleSource)),
  preview: text("preview"),
  messageCount: int("message_count"),
  model: nullable(text("model")),
  workspace: nullable(text("workspace")),
  pinned: bool("pinned"),
  archived: bool("archived"),
  project: nullable(text("project")),
  tags: repeatedJson("tags", tags),
  mode: nullable(option("mode", sessionMode)),
  persona: nullable(text("persona")),
  trashedAt: nullable(int("trashed_at")),
  ranges: repeatedJson("ranges", ranges),
  alternatives: repeatedJson("alternatives", alternatives),
  origin: group({ sessionId: text("origin_id", sessionId), seq: int("origin_seq", seq) }),
  epoch: int("epoch"),
  liveRun: nullable(text("live_run", runId)),
  liveState: nullable(option("live_state", runState)),
  lastState: nullable(option("last_state", runState)),
  openDeltas: int("open_deltas"),
});

/** Every commit changes these, so both databases keep them in a small separate table. */
export const headFields: ReadonlySet<string> = new Set<keyof SessionRow>([
  "head",
  "activityAt",
  "openDeltas",
]);

export const shelves = { active: 0, archived: 1, trash: 2 } as const;

/** The part of the list that a session is in. */
export function shelfOf(row: SessionRow): number {
  if (row.trashedAt !== null) return shelves.trash;
  return row.archived ? shelves.archived : shelves.active;
}

export const runs = describeTable<RunRow>("runs", ["id"], {
  id: text("id", runId),
  session: session(),
  state: option("state", runState),
  cause: nullable(text("cause")),
  attempt: int("attempt"),
  step: int("step"),
  cancelRequested: bool("cancel_requested"),
  continues: nullable(text("continues", runId)),
  createdAt: int("created_at"),
  startedAt: nullable(int("started_at")),
  endedAt: nullable(int("ended_at")),
  journalFrom: int("journal_from", seq),
  tries: int("tries"),
  restsSince: nullable(int("rests_since")),
  restedMs: int("rested_ms"),
});

const inputContent: z.ZodType<NonNullable<InputRow["content"]>> = z.object({
  text: z.string(),
  attachments: z.array(attachment),
  quoted: quotedRanges.optional(),
  rights: rights.optional(),
  taint: taintSources.optional(),
  attached: z.array(attachedPart).optional(),
});

export const inputs = describeTable<InputRow>("inputs", ["messageId"], {
  messageId: text("message_id", messageId),
  session: session(),
  clientId: text("client_id"),
  hash: opaqueText("hash"),
  runId: text("run_id", runId),
  seq: int("seq", seq),
  mode: option("mode", inputMode),
  state: option("state", z.enum(["queued", "taken", "removed"])),
  lane: nullable(text("lane", laneKey)),
  at: int("at"),
  content: nullable(json("content", inputContent)),
});

export const approvals = describeTable<ApprovalRow>("approvals", ["id"], {
  id: text("id", approvalId),
  session: session(),
  owner: text("owner_id", ownerId),
  runId: text("run_id", runId),
  callId: text("call_id", callId),
  tool: text("tool"),
  input: json("input", jsonValue),
  inputHash: text("input_hash"),
  askedAt: int("asked_at"),
  expiresAt: int("expires_at"),
  state: option("state", z.enum(["open", "answered", "withdrawn"])),
  decision: nullable(option("decision", approvalDecision)),
  answeredAt: nullable(int("answered_at")),
  details: json("details", approvalDetails),
});

export const lanes = describeTable<LaneRow>("lanes", ["owner", "lane"], {
  owner: text("owner_id", ownerId),
  lane: text("lane", laneKey),
  session: session(),
  at: int("at"),
});

/** Usage outlives its session, so both databases store the session's id. */
export const usage = describeTable<UsageRow>("usage", ["session", "seq"], {
  session: text("session_id", sessionId),
  seq: int("seq", seq),
  runId: nullable(text("run_id", runId)),
  owner: text("owner_id", ownerId),
  at: int("at"),
  model: text("model"),
  input: int("input"),
  output: int("output"),
  cacheRead: int("cache_read"),
  cacheWrite: int("cache_write"),
  costMicros: int("cost_micros"),
  profile: nullable(text("profile")),
});

export const leases = describeTable<LeaseRow>("leases", ["session", "kind"], {
  session: session(),
  kind: option("kind", z.enum(["run", "compaction", "memory", "history", "outbox"])),
  fence: int("fence", fence),
  holder: json("holder", holderSchema),
  expiresAt: int("expires_at"),
});

export const marks = describeTable<MarkRow>("marks", ["session", "seq"], {
  session: session(),
  seq: int("seq", seq),
  runId: text("run_id", runId),
  provider: text("provider"),
  configuration: text("configuration"),
  at: int("at"),
});

export const memoryTries = describeTable<MemoryTryRow>("memory_tries", ["session"], {
  session: session(),
  key: text("key"),
  upTo: int("up_to", seq),
  tries: int("tries"),
  retryAt: nullable(int("retry_at")),
  code: nullable(text("code")),
  message: nullable(text("message")),
});

export const outbox = describeTable<OutboxRow>("outbox", ["session", "delivery", "chunk"], {
  session: session(),
  delivery: text("delivery", deliveryId),
  chunk: int("chunk"),
  kind: option("kind", deliveryKind),
  lane: text("lane", laneKey),
  runId: nullable(text("run_id", runId)),
  approvalId: nullable(text("approval_id", approvalId)),
  // Only the first change of a delivery names what it answers; later changes must not reset that.
  inbound: sticky(nullable(text("inbound"))),
  replyTo: nullable(text("reply_to")),
  text: nullable(text("text")),
  begun: int("begun", seq),
  state: option("state", outboxState),
  from: int("sent_from"),
  to: int("sent_to"),
  platformId: nullable(text("platform_id")),
  attempts: int("attempts"),
  retryAt: nullable(int("retry_at")),
  code: nullable(text("code")),
  message: nullable(text("message")),
  at: int("at"),
});

export const register = describeTable<RegisterRow>("register", ["owner", "key"], {
  owner: text("owner_id", ownerId),
  key: text("key"),
  value: text("value"),
  revision: int("revision"),
  at: int("at"),
});

export const requests = describeTable<RequestRow>("requests", ["owner", "key"], {
  owner: text("owner_id", ownerId),
  key: text("key"),
  hash: text("hash"),
  session: nullable(session()),
  answer: text("answer"),
  at: int("at"),
});

/** Both databases also store the bytes. */
export const blobs = describeTable<BlobRow>("blobs", ["owner", "id"], {
  owner: text("owner_id", ownerId),
  id: text("id", blobId),
  size: int("size"),
  mediaType: text("media_type"),
  refs: int("refs"),
  createdAt: int("created_at"),
});

/** Blobs are content-addressed. */
export function blobIdOf(bytes: Uint8Array): BlobId {
  return blobId.parse(`blob_${createHash("sha256").update(bytes).digest("hex")}`);
}

export const purges = describeTable<PurgeRow>("purges", ["session"], {
  session: text("session_id", sessionId),
  owner: text("owner_id", ownerId),
  at: int("at"),
  events: int("events"),
});

/** An event as the log and the deltas store it: its data as JSON text, with a checksum that detects a damaged row. */
export interface EventRow {
  readonly seq: Seq;
  readonly id: EventId;
  readonly type: string;
  readonly v: number;
  readonly at: number;
  readonly runId: RunId | null;
  readonly quiet: boolean;
  readonly sum: number;
  readonly data: string;
}

export const events = describeTable<EventRow>("events", ["seq"], {
  seq: int("seq", seq),
  id: text("id", eventId),
  type: text("type"),
  v: int("v"),
  at: int("at"),
  runId: nullable(text("run_id", runId)),
  quiet: bool("quiet"),
  sum: int("sum"),
  data: text("data"),
});

export function toEventRow(event: StoredEvent): EventRow {
  const data = JSON.stringify(event.data);
  const { id, type, v, at, runId: run = null, quiet = false } = event;
  return { seq: event.seq, id, type, v, at, runId: run, quiet, sum: crc32(data), data };
}

export type EventRead =
  | { readonly status: "intact"; readonly event: StoredEvent }
  | {
      readonly status: "damaged";
      readonly seq: number;
      readonly id: string;
      readonly problem: string;
    };

/** Returns the problem instead of throwing: a damaged row is reported and skipped, and never fails a read. */
export function fromEventRow(row: EventRow): EventRead {
  const { id, type, v, at, runId: run } = row;
  const data = parsePayload(row.data, row.sum);
  if (typeof data === "string") return { status: "damaged", seq: row.seq, id, problem: data };
  const event: StoredEvent =
    run === null
      ? { seq: row.seq, id, type, v, at, data }
      : { seq: row.seq, id, type, v, at, runId: run, data };
  return { status: "intact", event: row.quiet ? { ...event, quiet: true } : event };
}

/** The data, or the problem with it. */
function parsePayload(payload: string, sum: number): StoredEvent["data"] | string {
  if (crc32(payload) !== sum) return "the checksum does not match";
  try {
    const data: unknown = JSON.parse(payload);
    return isObject(data) ? data : "it is not a JSON object";
  } catch {
    return "it is not JSON";
  }
}

function isObject(value: unknown): value is StoredEvent["data"] {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
