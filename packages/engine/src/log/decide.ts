import {
  type BlobId,
  decodeEvent,
  type EventId,
  type KnownEvent,
  type LaneKey,
  type MessageId,
  roleOf,
  type RunId,
  type Seq,
  type StoredEvent,
  terminalStates,
} from "@holdfast/protocol";

import type {
  Commit,
  Committed,
  InputRow,
  LaneRow,
  LeaseKind,
  LeaseRow,
  Refused,
  RunRow,
  SessionRow,
  UsageRow,
} from "../ports/index.ts";
import { beginSession } from "./begin-session.ts";
import { blobsIn, foldInput, foldRun, laneOf, usageOf } from "./fold-rows.ts";
import { foldDelta, foldSession } from "./fold-session.ts";
import { inputNamedBy, type Loaded, needsOf } from "./needs.ts";
import { isTooLarge, maxCommitLength } from "./payload-size.ts";
import { checkExpectations, refuse } from "./refusals.ts";

/** What a store writes, all in the same transaction. */
export interface Plan {
  readonly status: "planned";
  readonly session: SessionRow;
  readonly created: boolean;
  /** Nothing of the session's row changed but head, activity and open deltas: the list needs no write. */
  readonly checkpoint: boolean;
  readonly log: readonly StoredEvent[];
  readonly deltas: readonly StoredEvent[];
  /** The deltas that were open are settled: nothing reads them any more. */
  readonly settles: boolean;
  readonly runs: readonly RunRow[];
  readonly inputs: readonly InputRow[];
  readonly lanes: readonly LaneRow[];
  readonly usage: readonly UsageRow[];
  /** One reference more for each; a blob may be named several times. */
  readonly blobs: readonly BlobId[];
  readonly dropsLeases: boolean;
  readonly result: Committed;
}

/** The session had this input before: nothing is written. */
export interface Repeated {
  readonly status: "repeated";
  readonly input: InputRow;
}

/**
 * The rules of the log, in one place and without any I/O. A store calls it inside its write transaction with
 * rows that it has locked, and writes what it is told: so the three stores cannot differ in what they accept.
 */
export function decideCommit(
  loaded: Loaded,
  commit: Commit,
  now: number,
): Plan | Repeated | Refused {
  const begun = beginSession(loaded, commit, now);
  if (begun.status === "refused") return begun;
  const { session: before, created } = begun;
  if (isTooLarge(commit.events)) {
    return refuse("payload_too_large", `A commit has at most ${maxCommitLength} characters.`);
  }

  if (commit.under !== undefined && !holds(loaded.leases, commit.under)) {
    return refuse("fenced", "Another holder has taken over, or the lease was given up.");
  }
  const unmet = checkExpectations(before, loaded.leases, commit.expect, now);
  if (unmet !== undefined) return unmet;

  for (const clientId of needsOf(commit).clientIds) {
    const earlier = loaded.inputsByClient.get(clientId);
    if (earlier === undefined) continue;
    if (commit.events.some((event) => event.data["hash"] === earlier.hash))
      return { status: "repeated", input: earlier };
    return refuse("idempotency_conflict", "This client id was used for another message.");
  }
  return fold(loaded, commit, before, created, Math.max(now, before.activityAt));
}

function fold(
  loaded: Loaded,
  commit: Commit,
  before: SessionRow,
  created: boolean,
  at: number,
): Plan | Refused {
  const runs = new Map<RunId, RunRow>();
  const inputs = new Map<MessageId, InputRow>();
  const lanes = new Map<LaneKey, LaneRow>();
  const usage: UsageRow[] = [];
  const blobs: BlobId[] = [];
  const log: StoredEvent[] = [];
  const deltas: StoredEvent[] = [];
  let settledDeltas: number | undefined;
  let openWhenSettled = 0;
  let session = before;

  for (const each of commit.events) {
    const event: StoredEvent = {
      ...each,
      seq: (session.head + 1) as Seq,
      at,
      ...(commit.touch === "quiet" && { quiet: true }),
    };
    if (roleOf(event) === "delta") {
      deltas.push(event);
      session = foldDelta(session, event);
      continue;
    }
    const decoded = decodeEvent(event);
    if (decoded.kind === "invalid")
      return refuse("invalid_event", `${event.type}: ${decoded.reason}`);
    log.push(event);
    if (decoded.kind === "known") {
      const { event: known } = decoded;
      const settles = deltasOf(known);
      if (settles !== undefined) {
        if (settledDeltas === undefined) openWhenSettled = session.openDeltas;
        settledDeltas = (settledDeltas ?? 0) + settles;
      }
      const runId = known.type === "input.accepted" ? known.data.runId : known.runId;
      if (runId !== undefined)
        put(runs, runId, foldRun(runs.get(runId) ?? loaded.runs.get(runId), known, session));
      const messageId = inputNamedBy(known);
      if (messageId !== undefined) {
        put(
          inputs,
          messageId,
          foldInput(inputs.get(messageId) ?? loaded.inputs.get(messageId), known, session),
        );
      }
      const lane = laneOf(known, session);
      if (lane !== undefined) lanes.set(lane.lane, lane);
      const used = usageOf(known, session);
      if (used !== undefined) usage.push(used);
      for (const blob of blobsIn(known)) {
        if (!loaded.blobs.has(blob)) return refuse("blob_not_found", `There is no blob ${blob}.`);
        blobs.push(blob);
      }
      if (endsWithOpenDeltas(known, session)) {
        return refuse("deltas_unaccounted", "A run cannot end while its output is not settled.");
      }
    }
    session = foldSession(session, decoded);
  }

  if (settledDeltas !== undefined && settledDeltas !== openWhenSettled) {
    return refuse(
      "deltas_unaccounted",
      `The settlement stands for ${settledDeltas} deltas, but ${openWhenSettled} are open.`,
    );
  }
  return {
    status: "planned",
    session,
    created,
    checkpoint: !created && differsInHeadOnly(before, session),
    log,
    deltas,
    settles: settledDeltas !== undefined && settledDeltas > 0,
    runs: [...runs.values()],
    inputs: [...inputs.values()],
    lanes: [...lanes.values()],
    usage,
    blobs,
    dropsLeases: before.trashedAt === null && session.trashedAt !== null,
    result: answer(before, session, at, inputs),
  };
}

function answer(
  before: SessionRow,
  session: SessionRow,
  at: number,
  inputs: ReadonlyMap<MessageId, InputRow>,
): Committed {
  const accepted = inputs.values().find((input) => input.seq > before.head);
  return {
    status: "committed",
    first: (before.head + 1) as Seq,
    last: session.head,
    at,
    version: session.version,
    revision: session.revision,
    ...(accepted && {
      input: { messageId: accepted.messageId, runId: accepted.runId, seq: accepted.seq },
    }),
  };
}

/** The answer to an input that the session had before. */
export function answerRepeated({ input }: Repeated, session: SessionRow): Committed {
  return {
    status: "committed",
    first: input.seq,
    last: input.seq,
    at: input.at,
    version: session.version,
    revision: session.revision,
    repeated: true,
    input: { messageId: input.messageId, runId: input.runId, seq: input.seq },
  };
}

/** The answer to a commit whose first event is found in the store: version and revision are today's, the rest is what it was. */
export function answerAgain(
  commit: Commit,
  found: Pick<StoredEvent, "seq" | "at">,
  session: SessionRow,
): Committed {
  const input = acceptedIn(commit, found.seq);
  return {
    status: "committed",
    first: found.seq,
    last: (found.seq + commit.events.length - 1) as Seq,
    at: found.at,
    version: session.version,
    revision: session.revision,
    repeated: true,
    ...(input && { input }),
  };
}

function acceptedIn(commit: Commit, first: Seq): Committed["input"] {
  for (const [index, event] of commit.events.entries()) {
    if (event.type !== "input.accepted") continue;
    const seq = (first + index) as Seq;
    const decoded = decodeEvent({ ...event, seq, at: 0 });
    if (decoded.kind !== "known" || decoded.event.type !== "input.accepted") continue;
    const { messageId, runId } = decoded.event.data;
    return { messageId, runId, seq };
  }
  return undefined;
}

// P3: the lease row names the one fence that may write. An expired lease that nobody took is still its holder's.
function holds(leases: readonly LeaseRow[], under: { lease: LeaseKind; fence: number }): boolean {
  return leases.some((lease) => lease.kind === under.lease && lease.fence === under.fence);
}

/** How many deltas an entry stands for; none said is not the same as zero. */
function deltasOf(event: KnownEvent): number | undefined {
  if (event.type !== "message.assistant" && event.type !== "message.tool") return undefined;
  return event.data.deltas?.reduce((sum, [from, to]) => sum + to - from + 1, 0);
}

function endsWithOpenDeltas(event: KnownEvent, session: SessionRow): boolean {
  return (
    event.type === "run.state" &&
    terminalStates.has(event.data.state) &&
    event.runId === session.liveRun &&
    session.openDeltas > 0
  );
}

function differsInHeadOnly(a: SessionRow, b: SessionRow): boolean {
  const { head: _h, activityAt: _a, openDeltas: _o, ...rest } = b;
  return Object.entries(rest).every(([key, value]) => a[key as keyof SessionRow] === value);
}

function put<K, V>(map: Map<K, V>, key: K, value: V | undefined): void {
  if (value !== undefined) map.set(key, value);
}
