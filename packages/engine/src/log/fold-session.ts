import {
  type DecodedEvent,
  type KnownEvent,
  type SessionSettings,
  terminalStates,
  textOf,
  type TitleSource,
} from "@holdfast/protocol";

import type { SessionRow } from "../ports/index.ts";
import { columnText, previewOf, titleFrom } from "./plain-text.ts";

const strength: Record<TitleSource, number> = { derived: 0, generated: 1, chosen: 2 };

/** The session's row after one more event. Numbers and times were given by the store. */
export function foldSession(row: SessionRow, decoded: DecodedEvent): SessionRow {
  const { event } = decoded;
  const next: SessionRow = {
    ...row,
    head: event.seq,
    activityAt: event.quiet ? row.activityAt : event.at,
  };
  return decoded.kind === "known" ? { ...next, ...changesOf(next, decoded.event) } : next;
}

/** A delta changes nothing but the head, the activity and the count of what is still to be settled. */
export function foldDelta(row: SessionRow, event: DecodedEvent["event"]): SessionRow {
  return {
    ...row,
    head: event.seq,
    activityAt: event.quiet ? row.activityAt : event.at,
    openDeltas: row.openDeltas + 1,
  };
}

function changesOf(row: SessionRow, event: KnownEvent): Partial<SessionRow> {
  const moved = event.quiet ? {} : { sortAt: event.at };
  switch (event.type) {
    case "session.created":
      return { ...settingsOf(row, event.data), revision: row.revision + 1 };
    case "session.changed":
      return { ...settingsOf(row, event.data), revision: row.revision + 1 };
    case "session.trashed":
      return { trashedAt: event.at, revision: row.revision + 1 };
    case "session.restored":
      return { ...moved, trashedAt: null, revision: row.revision + 1 };
    case "input.accepted":
      return {
        ...moved,
        ...derivedTitle(row, event.data.text),
        preview: previewOf(event.data.text),
      };
    case "run.state":
      return runChanges(row, event, moved);
    case "message.user":
    case "message.assistant": {
      const text = textOf(event.data.parts);
      return {
        ...moved,
        ...(event.type === "message.user" ? derivedTitle(row, text) : settled(event.data.deltas)),
        version: row.version + 1,
        messageCount: row.messageCount + 1,
        ...(text === "" ? {} : { preview: previewOf(text) }),
      };
    }
    case "message.tool":
      return { ...settled(event.data.deltas), version: row.version + 1 };
    case "history.cut":
    case "history.restored":
      return {
        version: row.version + 1,
        ranges: event.data.ranges,
        messageCount: event.data.messageCount,
        preview: previewOf(event.data.preview),
      };
    case "context.compacted":
    case "context.epoch":
      return { version: row.version + 1, epoch: event.data.epoch };
    case "notice.added":
    case "notice.changed":
      return { version: row.version + 1 };
    case "lane.bound":
    case "input.changed":
    case "input.removed":
    case "run.cancel":
    case "step.started":
    case "message.delta":
    case "tool.started":
    case "tool.output":
    case "tool.ended":
    case "usage.recorded":
    case "approval.asked":
    case "approval.answered":
      return {};
  }
}

function runChanges(
  row: SessionRow,
  event: Extract<KnownEvent, { type: "run.state" }>,
  moved: Partial<SessionRow>,
): Partial<SessionRow> {
  const { state } = event.data;
  if (state === "queued" || event.runId === undefined) return {};
  if (!terminalStates.has(state)) return { liveRun: event.runId, liveState: state };
  const live = row.liveRun === event.runId ? { liveRun: null, liveState: null } : {};
  return { ...moved, ...live, lastState: state };
}

function settled(deltas: readonly unknown[] | undefined): Partial<SessionRow> {
  return deltas === undefined ? {} : { openDeltas: 0 };
}

function derivedTitle(row: SessionRow, text: string): Partial<SessionRow> {
  if (row.title !== null) return {};
  const title = titleFrom(text);
  return title === "" ? {} : { title, titleSource: "derived" };
}

function settingsOf(row: SessionRow, data: SessionSettings): Partial<SessionRow> {
  const { title, titleSource = "chosen", model, workspace, pinned, archived, project, tags } = data;
  const name = titleFrom(title ?? "");
  const named = name !== "" && strength[titleSource] >= strength[row.titleSource ?? "derived"];
  return {
    ...(named ? { title: name, titleSource } : {}),
    ...(model === undefined ? {} : { model: model && columnText(model) }),
    ...(workspace === undefined ? {} : { workspace: workspace && columnText(workspace) }),
    ...(pinned === undefined ? {} : { pinned }),
    ...(archived === undefined ? {} : { archived }),
    ...(project === undefined ? {} : { project: project && columnText(project) }),
    ...(tags === undefined ? {} : { tags: [...new Set(tags.map(columnText))].toSorted() }),
  };
}
