import type { Expectation, RefusalCode, Refused, Commit } from "../ports/commit.ts";
import type { LeaseRow, SessionRow } from "../ports/rows.ts";
import {
  decodeEvent,
  eventId,
  fence,
  type NewEvent,
  ownerId,
  runId,
  seq,
  type Seq,
  sessionId,
  type Json,
} from "@holdfast/protocol";

export function refuse(code: RefusalCode, message: string): Refused {
  return { status: "refused", code, message };
}

/** Compares the session with what the writer expected and refuses the first mismatch. */
export function checkExpectations(
  session: SessionRow,
  leases: readonly LeaseRow[],
  expect: Expectation | undefined,
  now: number,
): Refused | undefined {
  if (expect === undefined) return undefined;
  if (mismatch(expect.revision, session.revision)) {
    return refuse("revision_conflict", `The session is at revision ${session.revision}.`);
  }
  if (mismatch(expect.version, session.version)) {
    return refuse("version_conflict", `The session is at version ${session.version}.`);
  }
  if (mismatch(expect.head, session.head)) {
    return refuse("head_moved", `The session's newest event is ${session.head}.`);
  }
  if (mismatch(expect.epoch, session.epoch)) {
    return refuse("epoch_moved", `The session is in epoch ${session.epoch}.`);
  }
  if (expect.idle === true && session.liveRun !== null)
    return refuse("run_live", "A run is going on in this session.");
  if (expect.idle === undefined && expect.uncompacted === undefined) return undefined;
  const compacting = leases.some((lease) => lease.kind === "compaction" && lease.expiresAt > now);
  return compacting ? refuse("compaction_live", "The session is being compacted.") : undefined;
}

function mismatch(expected: number | undefined, actual: number): boolean {
  return expected !== undefined && expected !== actual;
}

export interface CommitLimits {
  /** Of one event's data as JSON. */
  readonly eventBytes: number;
  /** Of the data of all events of a commit. */
  readonly commitBytes: number;
  readonly commitEvents: number;
}

export const commitLimits: CommitLimits = {
  eventBytes: 1024 * 1024,
  commitBytes: 8 * 1024 * 1024,
  commitEvents: 2_000,
};

/**
 * Checks a commit by itself, whatever the store holds. The types guarantee most of this; a caller misled by outside
 * data is refused here, before anything is locked, instead of getting an exception.
 */
export function checkCommit(
  commit: Commit,
  limits: CommitLimits = commitLimits,
): Refused | undefined {
  const malformed = checkCommitFields(commit);
  if (malformed !== undefined) return refuse("invalid_event", malformed);
  const { events } = commit;
  if (events.length > limits.commitEvents) {
    return refuse(
      "payload_too_large",
      `A commit has at most ${limits.commitEvents} events; this one has ${events.length}.`,
    );
  }
  const seen = new Set<string>();
  let bytes = 0;
  for (const event of events) {
    const problem = checkEnvelope(event);
    if (problem !== undefined) return refuse("invalid_event", problem);
    if (seen.has(event.id)) return refuse("invalid_event", `The id ${event.id} is used twice.`);
    seen.add(event.id);
    const size = checkEventSize(event, limits.eventBytes);
    if (typeof size !== "number") return size;
    bytes += size;
  }
  if (bytes > limits.commitBytes) bytes = exactBytes(events);
  if (bytes > limits.commitBytes) {
    return refuse(
      "payload_too_large",
      `A commit has at most ${limits.commitBytes} bytes of JSON; this one has ${bytes}. Commit it in parts.`,
    );
  }
  return checkSchemas(events);
}

/** The event's size (an upper bound where that is enough), or why it is refused. */
function checkEventSize(event: NewEvent, limit: number): number | Refused {
  const measured = measureJson(event.data);
  if (measured.status === "not_json") {
    return refuse("invalid_event", `${event.type}: the data is not JSON: ${measured.reason}.`);
  }
  if (measured.atMost <= limit) return measured.atMost;
  const bytes = jsonByteLength(event.data);
  if (bytes <= limit) return bytes;
  return refuse(
    "payload_too_large",
    `${event.type} has ${bytes} bytes of JSON, and at most ${limit} are taken. ` +
      "Store the long text as a blob and keep its beginning and the blob's id in the event.",
  );
}

function exactBytes(events: readonly NewEvent[]): number {
  return events.reduce((sum, event) => sum + jsonByteLength(event.data), 0);
}

function checkSchemas(events: readonly NewEvent[]): Refused | undefined {
  for (const event of events) {
    const decoded = decodeEvent({ ...event, seq: 0 as Seq, at: 0 });
    if (decoded.kind === "invalid") {
      return refuse("invalid_event", `${event.type}: ${decoded.reason.slice(0, 1000)}`);
    }
  }
  return undefined;
}

const leaseKinds: ReadonlySet<unknown> = new Set(["run", "compaction", "memory", "outbox"]);
const touchValues: ReadonlySet<unknown> = new Set([undefined, "normal", "quiet"]);
const idleValues: ReadonlySet<unknown> = new Set([undefined, true]);
const paceValues: ReadonlySet<unknown> = new Set([undefined, "now", "tick"]);

function checkCommitFields(commit: Commit): string | undefined {
  if (!isObject(commit)) return "A commit is an object.";
  const { owner, session, events, under, expect, touch, pace } = commit;
  if (!ownerId.safeParse(owner).success) return "The owner's name is not a plain one.";
  if (!sessionId.safeParse(session).success) return "The session's id is not like ses_….";
  if (!Array.isArray(events) || events.length === 0) return "A commit needs at least one event.";
  if (under !== undefined) {
    if (!isObject(under) || !leaseKinds.has(under.lease)) return "There is no such kind of lease.";
    if (!fence.safeParse(under.fence).success) return "A fence is a positive whole number.";
  }
  if (!touchValues.has(touch)) return "`touch` is normal or quiet.";
  if (!paceValues.has(pace)) return "`pace` is now or tick.";
  if (expect === undefined) return undefined;
  if (!isObject(expect)) return "What is expected is an object.";
  const { revision, version, head, epoch, idle } = expect;
  const numbers = [revision, version, head, epoch].filter((item) => item !== undefined);
  if (!numbers.every((item) => seq.safeParse(item).success)) {
    return "What is expected are whole numbers.";
  }
  return idleValues.has(idle) ? undefined : "`idle` is true or absent.";
}

function checkEnvelope(event: NewEvent): string | undefined {
  if (!isObject(event)) return "An event is an object.";
  const { id, type, v, data } = event;
  if (!eventId.safeParse(id).success) return "An event's id is not like evt_….";
  if (typeof type !== "string" || type.length > 100 || !/^[a-z]+(\.[a-z]+)*$/.test(type))
    return "An event's type is not like session.created.";
  if (!Number.isSafeInteger(v) || v < 1) return `${type}: a version is a positive whole number.`;
  if (event.runId !== undefined && !runId.safeParse(event.runId).success)
    return `${type}: the run's id is not like run_….`;
  return isObject(data) ? undefined : `${type}: the data is not an object.`;
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export type JsonSize =
  /** An upper bound in bytes of JSON; the exact size is rarely needed and costs much more. */
  | { readonly status: "plain"; readonly atMost: number }
  | { readonly status: "not_json"; readonly reason: string };

/** Deeper than any sensible value, and far below where a recursive parser overflows. */
const maxDepth = 200;
/** A control character or a lone surrogate becomes `\u00xx`. */
const maxBytesPerUnit = 6;

/** Walks a value once: can JSON carry it, and how large can it get? */
export function measureJson(value: unknown, depth = 0): JsonSize {
  if (depth > maxDepth) return notJson(`it is nested deeper than ${maxDepth} levels`);
  switch (typeof value) {
    case "string":
      return plainJson(2 + value.length * maxBytesPerUnit);
    case "boolean":
      return plainJson(5);
    case "number":
      return Number.isFinite(value) ? plainJson(25) : notJson("a number is not finite");
    case "object":
      return value === null ? plainJson(4) : measureObject(value, depth);
    default:
      return notJson(`a value is of the type ${typeof value}`);
  }
}

function measureObject(value: object, depth: number): JsonSize {
  let atMost = 2;
  const isArray = Array.isArray(value);
  if (!isArray && !isPlain(value)) return notJson("an object is not a plain one");
  for (const [key, item] of Object.entries(value)) {
    // JSON leaves it out, like an optional field that was not given.
    if (item === undefined && !isArray) continue;
    const inner = measureJson(item, depth + 1);
    if (inner.status === "not_json") return inner;
    atMost += inner.atMost + 1 + (isArray ? 0 : 3 + key.length * maxBytesPerUnit);
  }
  return plainJson(atMost);
}

export function jsonByteLength(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

const plainJson = (atMost: number): JsonSize => ({ status: "plain", atMost });
const notJson = (reason: string): JsonSize => ({ status: "not_json", reason });

/** Characters in all the texts of one commit. Anything larger belongs in a blob. */
export const maxCommitLength = 8 * 1024 * 1024;

/** Counts without serialising, since every tick of every run passes here. */
export function isCommitTooLarge(events: readonly NewEvent[]): boolean {
  let length = 0;
  for (const event of events) {
    length += textLength(event.data);
    if (length > maxCommitLength) return true;
  }
  return false;
}

function textLength(value: Json): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 1;
  let length = 0;
  if (Array.isArray(value)) {
    for (const item of value) length += 1 + textLength(item);
    return length;
  }
  for (const key in value) length += key.length + textLength(value[key] ?? null);
  return length;
}
