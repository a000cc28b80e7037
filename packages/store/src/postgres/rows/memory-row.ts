import type { MarkRow, MemoryTryRow } from "@holdfast/engine";
import { runId, seq, sessionId } from "@holdfast/protocol";
import { z } from "zod";

import type { Row } from "../connection.ts";

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
