import type { SearchRole } from "@holdfast/engine";
import { emptySession, foldSessionRow } from "@holdfast/engine/log";
import {
  decodeEvent,
  type DecodedEvent,
  type OwnerId,
  type SessionId,
  textOf,
  type TitleSource,
} from "@holdfast/protocol";

import type { Row } from "../connection.ts";
import { decodeEventRow } from "../rows/events.ts";

/** Types of events whose words are searched. */
const searchableTypes = [
  "message.user",
  "message.assistant",
  "message.tool",
  "notice.added",
  "notice.changed",
] as const;
/** Types of events that can give a session its title. */
const titleTypes: ReadonlySet<string> = new Set([
  "session.created",
  "session.changed",
  "input.accepted",
  "message.user",
]);
export const indexedTypes: readonly string[] = [...new Set([...searchableTypes, ...titleTypes])];

export interface SearchableText {
  readonly role: SearchRole;
  readonly text: string;
}

export interface NewTitle {
  readonly title: string;
  readonly source: TitleSource;
}

type KnownEvent = Extract<DecodedEvent, { kind: "known" }>["event"];

/** The event of a row, or nothing when it is damaged or of a newer version: such a row is not searched. */
export function knownEvent(row: Row): KnownEvent | undefined {
  const read = decodeEventRow(row);
  const decoded = read.status === "intact" ? decodeEvent(read.event) : undefined;
  return decoded?.kind === "known" ? decoded.event : undefined;
}

export function searchableTextOf(event: KnownEvent): SearchableText | undefined {
  switch (event.type) {
    case "message.user":
      return { role: "user", text: textOf(event.data.parts) };
    case "message.assistant":
      return { role: "assistant", text: textOf(event.data.parts) };
    case "message.tool":
      return { role: "tool", text: textOf(event.data.parts) };
    case "notice.added":
    case "notice.changed":
      return { role: "notice", text: event.data.text };
    default:
      return undefined;
  }
}

export function canSetTitle(type: string, source: TitleSource | null): boolean {
  if (source === null) return titleTypes.has(type);
  return type === "session.created" || type === "session.changed";
}

const placeholderTitle = "\0";

/** The title that an event gives to a session whose title, if any, has this source: by the rules of the log. */
export function titleFrom(
  event: KnownEvent,
  session: { readonly id: SessionId; readonly owner: OwnerId },
  source: TitleSource | null,
): NewTitle | undefined {
  const beginning = { id: event.id, type: "session.created", v: 1, data: {} };
  const before = {
    ...emptySession({ owner: session.owner, session: session.id }, beginning, event.at),
    title: source === null ? null : placeholderTitle,
    titleSource: source,
  };
  const { title, titleSource } = foldSessionRow(before, { kind: "known", event });
  if (title === null || titleSource === null || title === before.title) return undefined;
  return { title, source: titleSource };
}
