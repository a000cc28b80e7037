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
} from "@holdfast/protocol";

import type { Commit, Refused } from "../ports/commit.ts";
import { jsonByteLength, measureJson } from "./limits-json.ts";
import { refuse } from "./check-commit.ts";

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
 * What is wrong with a commit by itself, whatever the store holds. The types promise most of this; a caller that was
 * misled by data from outside is refused here, before anything is locked, and nothing is thrown at it.
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
    const wrong = checkEnvelope(event);
    if (wrong !== undefined) return refuse("invalid_event", wrong);
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
  const numbers = [revision, version, head, epoch].filter((each) => each !== undefined);
  if (!numbers.every((each) => seq.safeParse(each).success)) {
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
