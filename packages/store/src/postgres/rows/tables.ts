import { z } from "zod";
import type {
  BlobRow,
  InputRow,
  LaneRow,
  PurgeRow,
  RunRow,
  UsageRow,
  LeaseRow,
  MarkRow,
  MemoryTryRow,
} from "@holdfast/engine";
import {
  attachment,
  blobId,
  inputMode,
  laneKey,
  messageId,
  ownerId,
  runId,
  runState,
  seq,
  sessionId,
  fence,
} from "@holdfast/protocol";
import type { Row } from "../connection.ts";
import { holderSchema } from "../../identity.ts";

const runShape = z.object({
  id: runId,
  session_id: sessionId,
  state: runState,
  cause: z.string().nullable(),
  attempt: z.int(),
  step: z.int(),
  cancel_requested: z.boolean(),
  continues: runId.nullable(),
  created_at: z.int(),
  started_at: z.int().nullable(),
  ended_at: z.int().nullable(),
  journal_from: seq,
  tries: z.int(),
  rests_since: z.int().nullable(),
  rested_ms: z.int(),
});

export function decodeRun(row: Row): RunRow {
  const run = runShape.parse(row);
  return {
    id: run.id,
    session: run.session_id,
    state: run.state,
    cause: run.cause,
    attempt: run.attempt,
    step: run.step,
    cancelRequested: run.cancel_requested,
    continues: run.continues,
    createdAt: run.created_at,
    startedAt: run.started_at,
    endedAt: run.ended_at,
    journalFrom: run.journal_from,
    tries: run.tries,
    restsSince: run.rests_since,
    restedMs: run.rested_ms,
  };
}

export function encodeRun(run: RunRow): Row {
  return {
    id: run.id,
    session_id: run.session,
    state: run.state,
    cause: run.cause,
    attempt: run.attempt,
    step: run.step,
    cancel_requested: run.cancelRequested,
    continues: run.continues,
    created_at: run.createdAt,
    started_at: run.startedAt,
    ended_at: run.endedAt,
    journal_from: run.journalFrom,
    tries: run.tries,
    rests_since: run.restsSince,
    rested_ms: run.restedMs,
  };
}

const inputShape = z.object({
  message_id: messageId,
  session_id: sessionId,
  client_id: z.string(),
  hash: z.string(),
  run_id: runId,
  seq,
  mode: inputMode,
  state: z.enum(["queued", "taken", "removed"]),
  lane: laneKey.nullable(),
  at: z.int(),
  content: z.string().nullable(),
});
const inputContent = z.object({ text: z.string(), attachments: z.array(attachment) });

export function decodeInput(row: Row): InputRow {
  const input = inputShape.parse(row);
  return {
    messageId: input.message_id,
    session: input.session_id,
    clientId: input.client_id,
    hash: z.string().parse(JSON.parse(input.hash)),
    runId: input.run_id,
    seq: input.seq,
    mode: input.mode,
    state: input.state,
    lane: input.lane,
    at: input.at,
    content: input.content === null ? null : inputContent.parse(JSON.parse(input.content)),
  };
}

export function encodeInput(input: InputRow): Row {
  return {
    message_id: input.messageId,
    session_id: input.session,
    client_id: input.clientId,
    // The client's own text must compare equal later. Escaping preserves any text.
    hash: JSON.stringify(input.hash),
    run_id: input.runId,
    seq: input.seq,
    mode: input.mode,
    state: input.state,
    lane: input.lane,
    at: input.at,
    content: input.content && JSON.stringify(input.content),
  };
}

const laneShape = z.object({
  owner_id: ownerId,
  lane: laneKey,
  session_id: sessionId,
  at: z.int(),
});

export function decodeLane(row: Row): LaneRow {
  const { owner_id, lane, session_id, at } = laneShape.parse(row);
  return { owner: owner_id, lane, session: session_id, at };
}

export function encodeLane({ owner, lane, session, at }: LaneRow): Row {
  return { owner_id: owner, lane, session_id: session, at };
}

const usageShape = z.object({
  session_id: sessionId,
  seq,
  run_id: runId.nullable(),
  owner_id: ownerId,
  at: z.int(),
  model: z.string(),
  input: z.int(),
  output: z.int(),
  cache_read: z.int(),
  cache_write: z.int(),
  cost_micros: z.int(),
});

export function decodeUsage(row: Row): UsageRow {
  const usage = usageShape.parse(row);
  return {
    session: usage.session_id,
    seq: usage.seq,
    runId: usage.run_id,
    owner: usage.owner_id,
    at: usage.at,
    model: usage.model,
    input: usage.input,
    output: usage.output,
    cacheRead: usage.cache_read,
    cacheWrite: usage.cache_write,
    costMicros: usage.cost_micros,
  };
}

export function encodeUsage(usage: UsageRow): Row {
  return {
    session_id: usage.session,
    seq: usage.seq,
    run_id: usage.runId,
    owner_id: usage.owner,
    at: usage.at,
    model: usage.model,
    input: usage.input,
    output: usage.output,
    cache_read: usage.cacheRead,
    cache_write: usage.cacheWrite,
    cost_micros: usage.costMicros,
  };
}

const blobShape = z.object({
  owner_id: ownerId,
  id: blobId,
  size: z.int(),
  media_type: z.string(),
  refs: z.int(),
  created_at: z.int(),
});

export function decodeBlobRow(row: Row): BlobRow {
  const { owner_id, id, size, media_type, refs, created_at } = blobShape.parse(row);
  return { owner: owner_id, id, size, mediaType: media_type, refs, createdAt: created_at };
}

const purgeShape = z.object({
  session_id: sessionId,
  owner_id: ownerId,
  at: z.int(),
  events: z.int(),
});

export function decodePurge(row: Row): PurgeRow {
  const { session_id, owner_id, at, events } = purgeShape.parse(row);
  return { session: session_id, owner: owner_id, at, events };
}

const leaseShape = z.object({
  kind: z.enum(["run", "compaction", "memory", "history", "outbox"]),
  session_id: sessionId,
  fence,
  holder: z.string(),
  expires_at: z.int(),
});

export function decodeLease(row: Row): LeaseRow {
  const lease = leaseShape.parse(row);
  return {
    kind: lease.kind,
    session: lease.session_id,
    fence: lease.fence,
    holder: holderSchema.parse(JSON.parse(lease.holder)),
    expiresAt: lease.expires_at,
  };
}

export function encodeLease(lease: LeaseRow): Row {
  return {
    kind: lease.kind,
    session_id: lease.session,
    fence: lease.fence,
    holder: JSON.stringify(lease.holder),
    expires_at: lease.expiresAt,
  };
}

const markShape = z.object({
  session_id: sessionId,
  seq,
  run_id: runId,
  provider: z.string(),
  configuration: z.string(),
  at: z.int(),
});

export function decodeMark(row: Row): MarkRow {
  const { session_id, seq: generation, run_id, provider, configuration, at } = markShape.parse(row);
  return { session: session_id, seq: generation, runId: run_id, provider, configuration, at };
}

export function encodeMark({ session, seq: generation, runId: run, ...rest }: MarkRow): Row {
  return { session_id: session, seq: generation, run_id: run, ...rest };
}

const tryShape = z.object({
  session_id: sessionId,
  key: z.string(),
  up_to: seq,
  tries: z.int(),
  retry_at: z.int().nullable(),
  code: z.string().nullable(),
  message: z.string().nullable(),
});

export function decodeMemoryTry(row: Row): MemoryTryRow {
  const { session_id, key, up_to, tries, retry_at, code, message } = tryShape.parse(row);
  return { session: session_id, key, upTo: up_to, tries, retryAt: retry_at, code, message };
}

export function encodeMemoryTry({ session, upTo, retryAt, ...rest }: MemoryTryRow): Row {
  return { session_id: session, up_to: upTo, retry_at: retryAt, ...rest };
}
