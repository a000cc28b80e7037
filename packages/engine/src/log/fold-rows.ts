import {
  type DecodedEvent,
  deltasSettledBy,
  foldSessionFacts as foldFacts,
  type KnownEvent,
  type StoredEvent,
  blobsOf,
  blobsOfResult,
  type BlobId,
  columnText,
  type EventData,
  type ContextFrame,
  type RunState,
  terminalStates,
} from "@holdfast/protocol";
import type {
  SessionRow,
  InputContent,
  InputRow,
  LaneRow,
  RunRow,
  UsageRow,
} from "../ports/rows.ts";

/** The session's row after one more event: the facts every reader knows, and the fields only the store has. */
export function foldSessionRow(row: SessionRow, decoded: DecodedEvent): SessionRow {
  const next = foldFacts(row, decoded);
  return decoded.kind === "known" ? { ...next, ...storeOnlyFields(decoded.event) } : next;
}

/** A delta changes only the head, the activity and the count of open deltas. */
export function foldDelta(row: SessionRow, event: StoredEvent): SessionRow {
  return {
    ...row,
    head: event.seq,
    activityAt: event.quiet ? row.activityAt : event.at,
    openDeltas: row.openDeltas + 1,
  };
}

function storeOnlyFields(event: KnownEvent): Partial<SessionRow> {
  switch (event.type) {
    case "history.cut":
    case "history.restored":
      return { ranges: event.data.ranges };
    default:
      return deltasSettledBy(event) === undefined ? {} : { openDeltas: 0 };
  }
}

/**
 * A run's row after one of its events. A run starts with the input that requests it, or with the state that continues
 * another run.
 */
export function foldRun(
  row: RunRow | undefined,
  event: KnownEvent,
  session: SessionRow,
): RunRow | undefined {
  switch (event.type) {
    case "input.accepted":
      return (
        row ?? {
          ...emptyRun(event.data.runId, session, event),
          continues: event.data.continues ?? null,
        }
      );
    case "run.state": {
      if (event.runId === undefined) return row;
      const before = row ?? emptyRun(event.runId, session, event);
      const { state, cause, attempt, continues } = event.data;
      return {
        ...before,
        state,
        cause: cause === undefined ? null : columnText(cause),
        attempt: attempt ?? before.attempt,
        continues: continues ?? before.continues,
        startedAt: state === "queued" ? before.startedAt : (before.startedAt ?? event.at),
        endedAt: terminalStates.has(state) ? event.at : null,
        journalFrom: state === "claimed" ? event.seq : before.journalFrom,
        tries: triesAfter(before, event.data),
        ...restTimes(before, state, event.at),
      };
    }
    case "run.cancel":
      return row && { ...row, cancelRequested: true };
    case "step.started":
      return (
        row && {
          ...row,
          step: event.data.step,
          tries: event.data.try ?? 0,
          journalFrom: event.seq,
        }
      );
    case "message.assistant": {
      // A late entry belongs to a step that is over; the journal of the running step continues. Earlier versions moved
      // the journal, which is harmless once the run has ended, and such rows must still follow from their logs.
      const isLate = event.data.above !== undefined;
      if (row === undefined || (isLate && !terminalStates.has(row.state))) return row;
      const isWhole = event.data.partial === undefined;
      return { ...row, tries: isWhole ? 0 : row.tries, journalFrom: event.seq };
    }
    case "message.tool":
      return row && event.data.above === undefined ? { ...row, journalFrom: event.seq } : row;
    default:
      return row;
  }
}

/** `running` with a cause means that the model failed transiently and will be called again. */
function triesAfter({ tries }: RunRow, { state, cause }: EventData<"run.state">): number {
  if (terminalStates.has(state)) return 0;
  return state === "running" && cause !== undefined ? tries + 1 : tries;
}

/** Kept while the run lives; nothing is counted after its end. */
function restTimes(
  { restsSince, restedMs }: RunRow,
  state: RunState,
  at: number,
): Pick<RunRow, "restsSince" | "restedMs"> {
  if (terminalStates.has(state)) return { restsSince: null, restedMs: 0 };
  if (isResting(state)) return { restsSince: restsSince ?? at, restedMs };
  return { restsSince: null, restedMs: restedMs + (restsSince === null ? 0 : at - restsSince) };
}

function emptyRun(id: RunRow["id"], session: SessionRow, event: KnownEvent): RunRow {
  return {
    id,
    session: session.id,
    state: "queued",
    cause: null,
    attempt: 0,
    step: 0,
    cancelRequested: false,
    continues: null,
    createdAt: event.at,
    startedAt: null,
    endedAt: null,
    journalFrom: event.seq,
    tries: 0,
    restsSince: null,
    restedMs: 0,
  };
}

/** An input's row after an event that names it. */
export function foldInput(
  row: InputRow | undefined,
  event: KnownEvent,
  session: SessionRow,
): InputRow | undefined {
  switch (event.type) {
    case "input.accepted": {
      const { messageId, clientId, hash, runId, mode, lane, rights, taint, attached } = event.data;
      return {
        messageId,
        session: session.id,
        clientId,
        hash: columnText(hash),
        runId,
        seq: event.seq,
        mode,
        state: "queued",
        lane: lane ?? null,
        at: event.at,
        content: {
          ...contentOf(event.data),
          ...(rights && { rights }),
          ...(taint && { taint }),
          ...(attached && { attached }),
        },
      };
    }
    case "input.changed": {
      if (row?.state !== "queued") return row;
      const { rights, taint, attached } = row.content ?? {};
      const kept = {
        ...(rights && { rights }),
        ...(taint && { taint }),
        ...(attached && { attached }),
      };
      return { ...row, content: { ...contentOf(event.data), ...kept } };
    }
    case "input.removed":
      return row?.state === "queued" ? { ...row, state: "removed", content: null } : row;
    case "message.user":
      return row && { ...row, state: "taken", content: null };
    default:
      return row;
  }
}

function contentOf({
  text,
  attachments = [],
  quoted,
}: EventData<"input.changed">): Pick<InputContent, "text" | "attachments" | "quoted"> {
  return { text, attachments, ...(quoted && { quoted }) };
}

export function laneRowOf(event: KnownEvent, session: SessionRow): LaneRow | undefined {
  if (event.type !== "lane.bound") return undefined;
  return { owner: session.owner, lane: event.data.lane, session: session.id, at: event.at };
}

export function usageRowOf(event: KnownEvent, session: SessionRow): UsageRow | undefined {
  if (event.type !== "usage.recorded") return undefined;
  const { model, input, output, cacheRead = 0, cacheWrite = 0, costMicros = 0 } = event.data;
  const { profile, usedAt = event.at } = event.data;
  return {
    session: session.id,
    seq: event.seq,
    runId: event.runId ?? null,
    owner: session.owner,
    at: usedAt,
    model: columnText(model),
    input,
    output,
    cacheRead,
    cacheWrite,
    costMicros,
    profile: profile === undefined ? null : columnText(profile),
  };
}

/** The blobs an event references, once each. */
export function blobsIn(event: KnownEvent): readonly BlobId[] {
  switch (event.type) {
    case "message.user":
    case "message.assistant":
    case "message.tool":
      return [...new Set(blobsOf(event.data.parts))];
    case "input.accepted":
    case "input.changed":
      return [...new Set((event.data.attachments ?? []).map((attachment) => attachment.blobId))];
    case "tool.ended":
      return [...new Set(blobsOfResult(event.data))];
    case "context.framed":
      return frameBlobs(event.data.frame);
    case "context.compacted":
      return [
        ...new Set([
          ...(event.data.blobId === undefined ? [] : [event.data.blobId]),
          ...(event.data.frame === undefined ? [] : frameBlobs(event.data.frame)),
        ]),
      ];
    default:
      return [];
  }
}

function frameBlobs({ system, tools }: ContextFrame): readonly BlobId[] {
  return [...new Set([system, tools])];
}

/**
 * The run's state machine: which states may follow which. A take-over also sets a run that had got further back to
 * `claimed`; what it does next is read from the log.
 */
const terminalStateList: readonly RunState[] = [...terminalStates];
const transitions: Record<RunState, readonly RunState[]> = {
  queued: ["claimed", ...terminalStateList],
  claimed: ["claimed", "running", "waiting", "paused", ...terminalStateList],
  running: ["claimed", "running", "waiting", "paused", ...terminalStateList],
  waiting: ["claimed", "paused", ...terminalStateList],
  paused: ["claimed", ...terminalStateList],
  completed: [],
  cancelled: [],
  failed: [],
  interrupted: [],
  limit: [],
};

/** P4: a run that has ended never changes state again. */
export function isAllowedTransition(from: RunState | undefined, to: RunState): boolean {
  return from === undefined ? to === "queued" || to === "claimed" : transitions[from].includes(to);
}

/** Who has to act next: the queue, a runner, a person, or nobody any more. */
const nextActor: Record<RunState, "queue" | "runner" | "person" | "nobody"> = {
  queued: "queue",
  claimed: "runner",
  running: "runner",
  waiting: "person",
  paused: "person",
  completed: "nobody",
  cancelled: "nobody",
  failed: "nobody",
  interrupted: "nobody",
  limit: "nobody",
};

/** A resting run has no lease and is not taken over: only a person's answer moves it. */
export function isResting(state: RunState): boolean {
  return nextActor[state] === "person";
}

/**
 * Why a resting run resumes. The commit with the person's answer moves it to `claimed` with this cause and without a
 * lease, and whichever runner finds it continues it. Nothing was interrupted, so no attempt is counted.
 */
export type ResumeCause = "answered" | "resumed";
const resumeCauses: ReadonlySet<string | null> = new Set<ResumeCause>(["answered", "resumed"]);

export function isResumedByPerson({ state, cause }: Pick<RunRow, "state" | "cause">): boolean {
  return state === "claimed" && resumeCauses.has(cause);
}
