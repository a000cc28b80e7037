import { type UUID, V7Generator } from "uuidv7";
import { z } from "zod";

/**
 * An id is a kind, an underscore and 128 bits (UUIDv7) in 26 characters of Crockford's base 32, lower case. Text order
 * is time order, so ids sort in an index or a URL.
 */
export const idPrefixes = {
  session: "ses",
  message: "msg",
  run: "run",
  event: "evt",
  call: "call",
  approval: "apr",
  notice: "ntc",
  lease: "lea",
  segment: "seg",
  delivery: "out",
  schedule: "sch",
  process: "prc",
} as const;

export type IdKind = keyof typeof idPrefixes;
export type Id<K extends IdKind> = string & z.core.$brand<`${K}Id`>;

export type SessionId = Id<"session">;
export type MessageId = Id<"message">;
export type RunId = Id<"run">;
export type EventId = Id<"event">;
export type CallId = Id<"call">;
export type ApprovalId = Id<"approval">;
export type NoticeId = Id<"notice">;
export type LeaseId = Id<"lease">;
export type SegmentId = Id<"segment">;
export type DeliveryId = Id<"delivery">;
export type ScheduleId = Id<"schedule">;
export type ProcessId = Id<"process">;

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
/** 26 characters hold 130 bits, so the first is at most `7`. */
const encoded = "[0-7][0-9a-hjkmnp-tv-z]{25}";

function idSchema<K extends IdKind>(kind: K): z.ZodType<Id<K>, string> {
  const prefix = idPrefixes[kind];
  const schema = z
    .string()
    .regex(new RegExp(`^${prefix}_${encoded}$`), `expected an id like ${prefix}_…`);
  // A brand exists only in the types, and zod cannot infer one from a type parameter.
  return schema as z.ZodType as z.ZodType<Id<K>, string>;
}

export const sessionId = idSchema("session");
export const messageId = idSchema("message");
export const runId = idSchema("run");
export const eventId = idSchema("event");
export const callId = idSchema("call");
export const approvalId = idSchema("approval");
export const noticeId = idSchema("notice");
export const leaseId = idSchema("lease");
export const segmentId = idSchema("segment");
export const deliveryId = idSchema("delivery");
export const scheduleId = idSchema("schedule");
export const processId = idSchema("process");

/** Who acts. A sign-in may bring its own name, so it is a bounded plain string. */
export const ownerId = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$/, "expected a plain name of at most 128 characters")
  .brand<"OwnerId">();
export type OwnerId = z.infer<typeof ownerId>;

/** Where messages come from: `web:…`, `cli:…`, `telegram:<bot>:<chat>:<thread>`. */
export const laneKey = z
  .string()
  .regex(/^[a-z][a-z0-9]*:[\x21-\x7e]{1,240}$/, "expected a lane like web:<session>")
  .brand<"LaneKey">();
export type LaneKey = z.infer<typeof laneKey>;

/** The content's SHA-256 in hexadecimal. */
export const blobId = z
  .string()
  .regex(/^blob_[0-9a-f]{64}$/, "expected an id like blob_…")
  .brand<"BlobId">();
export type BlobId = z.infer<typeof blobId>;

/** The position of an event in its session's log: 1, 2, 3, … without a gap. */
export const seq = z.int().nonnegative().brand<"Seq">();
export type Seq = z.infer<typeof seq>;

/** A number that only grows; the holder of the greatest one may write. */
export const fence = z.int().positive().brand<"Fence">();
export type Fence = z.infer<typeof fence>;

function encode(bytes: Readonly<Uint8Array>): string {
  let text = "";
  let rest = 0;
  // Two bits of padding in front make 130 bits: 26 characters of five.
  let width = 2;
  for (const byte of bytes) {
    rest = (rest << 8) | byte;
    width += 8;
    while (width >= 5) {
      width -= 5;
      text += alphabet[(rest >> width) & 31];
    }
    rest &= (1 << width) - 1;
  }
  return text;
}

/** An id derived from what it names: deriving it again gives the same one. It contains no time. */
export function idFromBytes<K extends IdKind>(kind: K, bytes: Readonly<Uint8Array>): Id<K> {
  if (bytes.length < 16) throw new Error("An id needs 16 bytes.");
  return `${idPrefixes[kind]}_${encode(bytes.subarray(0, 16))}` as Id<K>;
}

export interface IdSource {
  make<K extends IdKind>(kind: K): Id<K>;
}

/**
 * Ids from one source are strictly increasing, even if the clock steps back: the source then stays at the latest time
 * it has seen.
 */
export function createIds(
  now: () => number = Date.now,
  random?: { nextUint32(): number },
): IdSource {
  const generator = new V7Generator(random);
  // The time passed in never goes back, so any allowance works.
  const rollbackAllowance = 10_000;
  let latest = 0;
  return {
    make(kind) {
      latest = Math.max(latest, now());
      const uuid: UUID = generator.generateOrResetCore(latest, rollbackAllowance);
      return `${idPrefixes[kind]}_${encode(uuid.bytes)}` as Id<typeof kind>;
    },
  };
}

export const ids: IdSource = createIds();

/** The time, in milliseconds, at which an id was created: its first 50 bits, two of them padding. */
export function timeOf<K extends IdKind>(id: Id<K>): number {
  const text = id.slice(id.indexOf("_") + 1);
  let time = 0;
  for (const character of text.slice(0, 10)) time = time * 32 + alphabet.indexOf(character);
  return time;
}
