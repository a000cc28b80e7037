import { setImmediate as nextTurn } from "node:timers/promises";
import { crc32 } from "node:zlib";
import { z } from "zod";
import type {
  SpillDamage,
  SpillReadResult,
  ModelCall,
  SpillEnd,
  SpillHeader,
  SpillName,
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

/**
 * A record is sixteen bytes (magic, length, number, checksum) and its text. The checksum covers everything except
 * itself and the magic. Zeros of the reserved space follow the last record.
 */
const recordMagic = 0x48_46_53_31;
const recordHeadBytes = 16;
/** More than one tick of a journal can have, in bytes. */
const maxRecordBytes = 4 * 1024 * 1024;

export interface DecodedRecord {
  readonly number: number;
  readonly text: string;
  readonly offset: number;
}

export function encodeRecord(number: number, text: string): Buffer {
  const body = Buffer.from(text, "utf8");
  const record = Buffer.alloc(recordHeadBytes + body.length);
  record.writeUInt32BE(recordMagic, 0);
  record.writeUInt32BE(body.length, 4);
  record.writeUInt32BE(number, 8);
  body.copy(record, recordHeadBytes);
  record.writeUInt32BE(checksum(record, 0, body.length), 12);
  return record;
}

export interface DecodedRecords {
  /** Sorted by number, each once. */
  readonly records: readonly DecodedRecord[];
  readonly damage: readonly SpillDamage[];
}

/**
 * Decodes every intact record, whatever else is in the file. A damaged record costs only itself: reading goes on at
 * the next magic with a valid checksum.
 */
export function decodeRecords(bytes: Buffer): DecodedRecords {
  const decoding = scanRecords(bytes);
  for (;;) {
    const step = decoding.next();
    if (step.done === true) return step.value;
  }
}

/** Yields how many bytes each step has examined. */
function* scanRecords(bytes: Buffer): Generator<number, DecodedRecords> {
  const found = new Map<number, DecodedRecord>();
  const damage: SpillDamage[] = [];
  // Bounds the checksum work on a file that consists of magics only.
  let budget = 4 * bytes.length + maxRecordBytes;
  let offset = 0;
  while (offset < bytes.length && budget > 0) {
    const length = recordLengthAt(bytes, offset);
    const examined = length === undefined ? 1 : recordHeadBytes + length;
    budget -= examined;
    yield examined;
    if (length === undefined || !isChecksumValid(bytes, offset, length)) {
      const next = nextMagic(bytes, offset + 1);
      const isLast = next === bytes.length;
      if (isLast && isZero(bytes, offset)) break;
      damage.push({ kind: isLast ? "torn" : "damaged", offset });
      offset = next;
      continue;
    }
    const end = offset + recordHeadBytes + length;
    const number = bytes.readUInt32BE(offset + 8);
    if (found.has(number)) damage.push({ kind: "repeated", offset });
    else {
      const text = bytes.toString("utf8", offset + recordHeadBytes, end);
      found.set(number, { number, text, offset });
    }
    offset = end;
  }
  const records = [...found.values()].toSorted((a, b) => a.number - b.number);
  return { records, damage };
}

/** `undefined` where no record can start, or where it would be too long. */
function recordLengthAt(bytes: Buffer, offset: number): number | undefined {
  if (offset + recordHeadBytes > bytes.length || bytes.readUInt32BE(offset) !== recordMagic)
    return undefined;
  const length = bytes.readUInt32BE(offset + 4);
  return length > maxRecordBytes ? undefined : length;
}

function isChecksumValid(bytes: Buffer, offset: number, length: number): boolean {
  if (offset + recordHeadBytes + length > bytes.length) return false;
  return checksum(bytes, offset, length) === bytes.readUInt32BE(offset + 12);
}

function checksum(bytes: Buffer, offset: number, length: number): number {
  const head = crc32(bytes.subarray(offset + 4, offset + 12));
  return crc32(bytes.subarray(offset + recordHeadBytes, offset + recordHeadBytes + length), head);
}

const magicBytes = Buffer.from([0x48, 0x46, 0x53, 0x31]);

function nextMagic(bytes: Buffer, from: number): number {
  const at = bytes.indexOf(magicBytes, from);
  return at === -1 ? bytes.length : at;
}

/** Each byte equals the next one, and the first is zero: a comparison in native code. */
function isZero(bytes: Buffer, from: number): boolean {
  if (from >= bytes.length) return true;
  return bytes[from] === 0 && bytes.subarray(from, -1).equals(bytes.subarray(from + 1));
}

const header = z.object({
  session: sessionId,
  runId,
  fence,
  place: z.string().min(1).max(64),
  owner: ownerId,
  ingestId: eventId,
});

/**
 * What a journal consists of. A runner starts no tool while the store is away, but a file may have been written by
 * another version.
 */
const event = z
  .object({
    id: eventId,
    type: z.enum(["message.delta", "tool.started", "tool.output", "tool.ended"]),
    v: z.literal(1),
    runId,
    data: jsonObject,
  })
  .refine((item) => decodeEvent({ ...item, seq: 0 as Seq, at: 0 }).kind === "known");

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

/** How much of a file is decoded in one turn of the event loop; a record is decoded in one piece. */
const sliceBytes = 64 * 1024;

/** Waits for the next turn of the event loop whenever a slice is full. */
function createSlices(): (bytes: number) => Promise<void> | undefined {
  let used = 0;
  return (bytes) => {
    used += bytes;
    if (used < sliceBytes) return undefined;
    used = 0;
    return nextTurn();
  };
}

/**
 * What a file says about its run. Everything else in it is reported and left out. Other work goes on between slices of
 * a long file.
 */
export async function decodeSpill(bytes: Buffer): Promise<SpillReadResult> {
  const endStep = createSlices();
  const scan = scanRecords(bytes);
  let step = scan.next();
  for (; step.done !== true; step = scan.next()) await endStep(step.value);
  const { records, damage: recordDamage } = step.value;
  const damage: SpillDamage[] = [...recordDamage];
  let foundHeader: SpillHeader | undefined;
  let endRecord: SpillEnd | null = null;
  const events = new Map<string, NewEvent>();
  for (const { text, offset } of records) {
    const value = parseRecord(text);
    if (value === undefined) damage.push({ kind: "foreign", offset });
    else if (value.kind === "header") foundHeader ??= value.header;
    else if (value.kind === "end") endRecord ??= toSpillEnd(value.end);
    else for (const item of value.events) events.set(item.id, item);
    await endStep(text.length);
  }
  if (foundHeader === undefined) return { status: "arriving" };
  const ownEvents = [...events.values()].filter((item) => item.runId === foundHeader.runId);
  if (ownEvents.length > 0 || (endRecord !== null && endRecord.calls.length > 0))
    return { status: "output", header: foundHeader, events: ownEvents, end: endRecord, damage };
  return endRecord === null
    ? { status: "arriving", isBegun: true }
    : { status: "sealed", header: foundHeader, damage };
}

const spillName = z.object({ runId, fence });

export function decodeSpillName(value: unknown): SpillName | undefined {
  return spillName.safeParse(value).data;
}

/** The start of the file is enough to know whose it is. */
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

function toSpillEnd({
  how,
  model,
  calls: spilledCalls,
  usage: spilledUsage,
}: z.infer<typeof end>): SpillEnd {
  const calls = spilledCalls.map(toModelCall);
  if (spilledUsage === null) return { how, model, calls, usage: null };
  const { input, output, cacheRead, cacheWrite, costMicros } = spilledUsage;
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
