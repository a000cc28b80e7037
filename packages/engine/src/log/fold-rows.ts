import {
  blobsOf,
  type BlobId,
  columnText,
  type KnownEvent,
  terminalStates,
} from "@holdfast/protocol";

import type { InputRow, LaneRow, RunRow, SessionRow, UsageRow } from "../ports/index.ts";

/** A run's row after one of its events. A run begins with the input that asks for it, or with the state that continues another. */
export function foldRun(
  row: RunRow | undefined,
  event: KnownEvent,
  session: SessionRow,
): RunRow | undefined {
  switch (event.type) {
    case "input.accepted":
      return row ?? emptyRun(event.data.runId, session, event);
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
      };
    }
    case "run.cancel":
      return row && { ...row, cancelRequested: true };
    case "step.started":
      return row && { ...row, step: event.data.step, journalFrom: event.seq };
    case "message.assistant":
    case "message.tool":
      return row && { ...row, journalFrom: event.seq };
    default:
      return row;
  }
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
      const { messageId, clientId, hash, runId, mode, lane, text, attachments = [] } = event.data;
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
        content: { text, attachments },
      };
    }
    case "input.changed": {
      const { text, attachments = [] } = event.data;
      return row?.state === "queued" ? { ...row, content: { text, attachments } } : row;
    }
    case "input.removed":
      return row?.state === "queued" ? { ...row, state: "removed", content: null } : row;
    case "message.user":
      return row && { ...row, state: "taken", content: null };
    default:
      return row;
  }
}

export function laneOf(event: KnownEvent, session: SessionRow): LaneRow | undefined {
  if (event.type !== "lane.bound") return undefined;
  return { owner: session.owner, lane: event.data.lane, session: session.id, at: event.at };
}

export function usageOf(event: KnownEvent, session: SessionRow): UsageRow | undefined {
  if (event.type !== "usage.recorded") return undefined;
  const { model, input, output, cacheRead = 0, cacheWrite = 0, costMicros = 0 } = event.data;
  return {
    session: session.id,
    seq: event.seq,
    runId: event.runId ?? null,
    owner: session.owner,
    at: event.at,
    model: columnText(model),
    input,
    output,
    cacheRead,
    cacheWrite,
    costMicros,
  };
}

/** The blobs that an event keeps alive, once each. */
export function blobsIn(event: KnownEvent): readonly BlobId[] {
  switch (event.type) {
    case "message.user":
    case "message.assistant":
    case "message.tool":
      return [...new Set(blobsOf(event.data.parts))];
    case "input.accepted":
    case "input.changed":
      return [...new Set((event.data.attachments ?? []).map((each) => each.blobId))];
    case "tool.ended":
    case "context.compacted":
      return event.data.blobId === undefined ? [] : [event.data.blobId];
    default:
      return [];
  }
}
