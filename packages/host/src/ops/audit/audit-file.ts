import { json, seq, sessionId } from "@holdfast/protocol";
import { z } from "zod";
import { signedHead } from "./signed-head.ts";

/** A session's log for those who check it: a header, one line for each event, and a last line. */
export const auditFormat = "holdfast.audit";

export const auditHeader = z.object({
  format: z.literal(auditFormat),
  version: z.literal(1),
  session: sessionId,
  exportedAt: z.int(),
  head: seq,
  /** How many numbers up to the head belong to output that no entry has settled yet. */
  open: z.int().nonnegative(),
});
export type AuditHeader = z.infer<typeof auditHeader>;

const link = z.string().max(200).nullable();

const intactEvent = z.object({
  log: sessionId,
  seq,
  id: z.string(),
  type: z.string(),
  v: z.int(),
  at: z.int(),
  runId: z.string().nullable(),
  quiet: z.boolean(),
  data: json,
  link,
  /** The commitment to the event as it was stored; its data is shown without secrets. */
  redacted: z.string().optional(),
});
const damagedEvent = z.object({ log: sessionId, seq, link, damaged: z.string() });

export type IntactEvent = z.infer<typeof intactEvent>;
export type AuditEvent = IntactEvent | z.infer<typeof damagedEvent>;

export const auditEnd = z.object({ end: z.literal(true), signatures: z.array(signedHead) });
export type AuditEnd = z.infer<typeof auditEnd>;

export const auditLine = z.union([intactEvent, damagedEvent, auditEnd]);
