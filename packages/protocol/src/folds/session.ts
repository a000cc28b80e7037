import {
  type DecodedEvent,
  definitionOf,
  type EventData,
  type KnownEvent,
} from "../events/registry.ts";
import { type EventRole } from "../events/define.ts";
import { type RunState, terminalStates } from "../events/run.ts";
import { type SessionSettings, type TitleSource } from "../events/session.ts";
import type { RunId, Seq, SessionId } from "../ids.ts";
import type { SessionMode } from "../rights/session-mode.ts";
import { textOf } from "../parts.ts";
import { type AlternativeSet, foldAlternatives } from "./alternatives.ts";

/** What a session's own events say about it. A store's row and a page's view may both hold more. */
export interface SessionFacts {
  readonly head: Seq;
  readonly version: number;
  readonly revision: number;
  readonly epoch: number;
  readonly createdAt: number;
  readonly activityAt: number;
  readonly sortAt: number;
  readonly trashedAt: number | null;
  readonly title: string | null;
  readonly titleSource: TitleSource | null;
  readonly model: string | null;
  readonly workspace: string | null;
  readonly pinned: boolean;
  readonly archived: boolean;
  readonly project: string | null;
  readonly tags: readonly string[];
  /** `null`: it was never given one. */
  readonly mode?: SessionMode | null | undefined;
  /** `null`: the default one. */
  readonly persona?: string | null | undefined;
  readonly preview: string;
  readonly messageCount: number;
  readonly liveRun: RunId | null;
  readonly liveState: RunState | null;
  readonly lastState: RunState | null;
  /** The turns that have more than one version. */
  readonly alternatives?: readonly AlternativeSet[] | undefined;
  readonly origin?: { readonly sessionId: SessionId; readonly seq: Seq } | null | undefined;
}

type Changes = Partial<SessionFacts>;

/** The session after one more event. Version and revision count what decodes, by its role. */
export function foldSessionFacts<T extends SessionFacts>(facts: T, decoded: DecodedEvent): T {
  const { event } = decoded;
  const next = {
    ...facts,
    head: event.seq,
    activityAt: event.quiet ? facts.activityAt : event.at,
  };
  if (decoded.kind !== "known") return next;
  return {
    ...next,
    ...countedChanges(next, decoded.event),
    ...changesOf(next, decoded.event),
    ...alternativeChanges(facts, decoded.event),
  };
}

function alternativeChanges({ alternatives = [] }: SessionFacts, event: KnownEvent): Changes {
  const changed = foldAlternatives(alternatives, event);
  return changed === alternatives ? {} : { alternatives: changed };
}

function countedChanges(facts: SessionFacts, event: KnownEvent): Changes {
  const role: EventRole | undefined = definitionOf(event.type, event.v)?.role;
  if (role === "entry") return { version: facts.version + 1 };
  return role === "meta" ? { revision: facts.revision + 1 } : {};
}

function changesOf(facts: SessionFacts, event: KnownEvent): Changes {
  const listChange: Changes = event.quiet ? {} : { sortAt: event.at };
  switch (event.type) {
    case "session.created":
      return creationChanges(facts, event.data, event.at);
    case "session.changed":
      return { ...settingsChanges(facts, event.data), ...importedChanges(facts, event.data) };
    case "session.trashed":
      return { trashedAt: event.at };
    case "session.restored":
      return { ...listChange, trashedAt: null };
    case "input.accepted":
      return {
        ...listChange,
        ...derivedTitleChanges(facts, event.data.text),
        ...(event.data.text !== "" && { preview: previewOf(event.data.text) }),
      };
    case "message.user":
    case "message.assistant": {
      // A late entry belongs to an earlier turn: it is neither counted again nor used as the preview.
      if (event.type === "message.assistant" && event.data.above !== undefined) return listChange;
      const text = textOf(event.data.parts);
      return {
        ...listChange,
        ...(event.type === "message.user" && derivedTitleChanges(facts, text)),
        messageCount: facts.messageCount + 1,
        ...(text !== "" && { preview: previewOf(text) }),
      };
    }
    case "history.cut":
    case "history.restored":
      return {
        messageCount: event.data.messageCount,
        preview: previewOf(event.data.preview),
      };
    case "context.compacted":
    case "context.epoch":
      return { epoch: event.data.epoch };
    case "run.state":
      return runChanges(facts, event, listChange);
    default:
      return {};
  }
}

function creationChanges(
  facts: SessionFacts,
  data: EventData<"session.created">,
  at: number,
): Changes {
  return {
    ...settingsChanges(facts, data),
    ...(data.origin && { origin: data.origin }),
    ...(data.messageCount !== undefined && { messageCount: data.messageCount }),
    ...(data.preview !== undefined && { preview: previewOf(data.preview) }),
    createdAt: data.imported?.from ?? at,
    activityAt: data.imported?.to ?? at,
    sortAt: data.imported?.to ?? at,
  };
}

/** More was imported into it: the list shows when that was said. */
function importedChanges(
  { activityAt, sortAt }: SessionFacts,
  { imported }: EventData<"session.changed">,
): Changes {
  if (imported?.to === undefined) return {};
  return {
    activityAt: Math.max(activityAt, imported.to),
    sortAt: Math.max(sortAt, imported.to),
  };
}

/** A queued run is shown only by its inbox item. */
function runChanges(
  facts: SessionFacts,
  event: Extract<KnownEvent, { type: "run.state" }>,
  listChange: Changes,
): Changes {
  const { state } = event.data;
  if (state === "queued" || event.runId === undefined) return {};
  if (!terminalStates.has(state)) return { liveRun: event.runId, liveState: state };
  const ended = facts.liveRun === event.runId ? { liveRun: null, liveState: null } : {};
  return { ...listChange, ...ended, lastState: state };
}

function derivedTitleChanges(facts: SessionFacts, text: string): Changes {
  if (facts.title !== null) return {};
  const title = titleFrom(text);
  return title === "" ? {} : { title, titleSource: "derived" };
}

const titleStrength: Record<TitleSource, number> = { derived: 0, generated: 1, chosen: 2 };

/** `null` clears, absent keeps, and a weaker title never replaces a stronger one. */
function settingsChanges(facts: SessionFacts, data: SessionSettings): Changes {
  const { title, titleSource = "chosen", model, workspace, pinned, archived, project, tags } = data;
  const { mode, persona } = data;
  const name = titleFrom(title ?? "");
  const replacesTitle =
    name !== "" && titleStrength[titleSource] >= titleStrength[facts.titleSource ?? "derived"];
  return {
    ...(replacesTitle && { title: name, titleSource }),
    ...(model !== undefined && { model: model && columnText(model) }),
    ...(workspace !== undefined && { workspace: workspace && columnText(workspace) }),
    ...(pinned !== undefined && { pinned }),
    ...(archived !== undefined && { archived }),
    ...(project !== undefined && { project: project && columnText(project) }),
    ...(tags !== undefined && { tags: [...new Set(tags.map(columnText))].toSorted() }),
    ...(mode !== undefined && { mode }),
    ...(persona !== undefined && { persona }),
  };
}

const maxPreviewLength = 200;
const maxTitleLength = 120;

/** Everything but a single plain space between words, which is the common case and stays unchanged. */
const controlCharacters = /(?! [^\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu;

/** Text for a row: well formed, on one line, without characters that break a database or a terminal. */
export function plainText(text: string): string {
  return text.toWellFormed().replaceAll(controlCharacters, " ").trim();
}

/** A name for a column, preserved as far as every database can store it. */
export function columnText(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\uFFFD");
}

export function previewOf(text: string): string {
  // Cut before cleaning: a message may have megabytes.
  return truncate(plainText(text.slice(0, maxPreviewLength * 8)), maxPreviewLength);
}

export function titleFrom(text: string): string {
  const start = text.slice(0, maxTitleLength * 8).trimStart();
  return truncate(plainText(start.split("\n", 1)[0] ?? ""), maxTitleLength);
}

/** Cuts between characters, never inside a surrogate pair. */
function truncate(text: string, length: number): string {
  if (text.length <= length) return text;
  const end = /[\uD800-\uDBFF]/.test(text[length - 2] ?? "") ? length - 2 : length - 1;
  return `${text.slice(0, end).trimEnd()}…`;
}
