import type {
  SpillReadResult,
  ModelCall,
  SpillDamage,
  SpillEnd,
  SpillHeader,
} from "@holdfast/engine";
import {
  callId,
  decodeEvent,
  eventId,
  fence,
  json,
  jsonObject,
  type NewEvent,
  ownerId,
  runId,
  type Seq,
  sessionId,
} from "@holdfast/protocol";
import { z } from "zod";

import { decodeRecords } from "./format.ts";

const header = z.object({
  session: sessionId,
  runId,
  fence,
  place: z.string().min(1).max(64),
  owner: ownerId,
  ingestId: eventId,
});

/** What a journal is made of. A runner begins no tool while the store is away, but what another one wrote is read. */
const event = z
  .object({
    id: eventId,
    type: z.enum(["message.delta", "tool.started", "tool.output", "tool.ended"]),
    v: z.literal(1),
    runId,
    data: jsonObject,
  })
  .refine((each) => decodeEvent({ ...each, seq: 0 as Seq, at: 0 }).kind === "known");

const usage = z.object({
  input: z.number(),
  output: z.number(),
  cacheRead: z.number().optional(),
  cacheWrite: z.number().optional(),
  costMicros: z.number().optional(),
});

const spilledCall = z.object({
  callId,
  name: z.string(),
  input: json,
  malformed: z.literal(true).optional(),
  opaque: jsonObject.optional(),
});

const end = z.object({
  how: z.enum(["done", "stopped", "failed"]),
  model: z.string(),
  calls: z.array(spilledCall),
  usage: usage.nullable(),
});

const content = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("header"), header }),
  z.object({ kind: z.literal("events"), events: z.array(event) }),
  z.object({ kind: z.literal("end"), end }),
]);

export function encodeHeader(value: SpillHeader): string {
  return JSON.stringify({ kind: "header", header: value });
}

export function encodeEvents(events: readonly NewEvent[]): string {
  return JSON.stringify({ kind: "events", events });
}

export function encodeEnd(value: SpillEnd): string {
  return JSON.stringify({ kind: "end", end: value });
}

/** What a file says of its run. Whatever else is in it is reported and left out. */
export function decodeSpill(bytes: Buffer): SpillReadResult {
  const { records, damage: broken } = decodeRecords(bytes);
  const damage: SpillDamage[] = [...broken];
  let found: SpillHeader | undefined;
  let sealed: SpillEnd | null = null;
  const events = new Map<string, NewEvent>();
  for (const { text, offset } of records) {
    const value = parseRecord(text);
    if (value === undefined) damage.push({ kind: "foreign", offset });
    else if (value.kind === "header") found ??= value.header;
    else if (value.kind === "end") sealed ??= toSpillEnd(value.end);
    else for (const each of value.events) events.set(each.id, each);
  }
  if (found === undefined) return { status: "arriving" };
  const own = [...events.values()].filter((each) => each.runId === found.runId);
  if (own.length > 0 || (sealed !== null && sealed.calls.length > 0))
    return { status: "output", header: found, events: own, end: sealed, damage };
  return sealed === null
    ? { status: "arriving", isBegun: true }
    : { status: "sealed", header: found, damage };
}

/** Of the file's beginning alone: enough to know whose it is. */
export function decodeHeader(bytes: Buffer): SpillHeader | undefined {
  for (const { text } of decodeRecords(bytes).records) {
    const value = parseRecord(text);
    if (value?.kind === "header") return value.header;
  }
  return undefined;
}

function parseRecord(text: string): z.infer<typeof content> | undefined {
  try {
    return content.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

function toModelCall({ malformed, opaque, ...call }: z.infer<typeof spilledCall>): ModelCall {
  return { ...call, ...(malformed && { malformed }), ...(opaque && { opaque }) };
}

function toSpillEnd({ how, model, calls: said, usage: used }: z.infer<typeof end>): SpillEnd {
  const calls = said.map(toModelCall);
  if (used === null) return { how, model, calls, usage: null };
  const { input, output, cacheRead, cacheWrite, costMicros } = used;
  return {
    how,
    model,
    calls,
    usage: {
      input,
      output,
      ...(cacheRead !== undefined && { cacheRead }),
      ...(cacheWrite !== undefined && { cacheWrite }),
      ...(costMicros !== undefined && { costMicros }),
    },
  };
}
