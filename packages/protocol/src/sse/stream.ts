import { z } from "zod";
import { type Seq, seq, type SessionId, sessionId } from "../ids.ts";
import { type StoredEvent, storedEvent } from "../events/registry.ts";
import { sessionView } from "../http/views.ts";
import { encodeSseFrame, type SseFrame } from "./frames.ts";

/** How far a tab has read each session it watches. */
export type Cursors = ReadonlyMap<SessionId, Seq>;

export const maxWatchedSessions = 100;

/** `ses_a:12,ses_b:0`: the value of `watch` and of the `id:` of its frames. */
export function encodeCursors(cursors: Cursors): string {
  return [...cursors].map(([session, at]) => `${session}:${at}`).join(",");
}

/** `null` for anything but a cursor map; a session named twice is not one. */
export function decodeCursors(text: string): Cursors | null {
  const cursors = new Map<SessionId, Seq>();
  if (text === "") return cursors;
  for (const pair of text.split(",")) {
    const [name, number, ...rest] = pair.split(":");
    if (number === undefined || !/^(0|[1-9]\d{0,15})$/.test(number) || rest.length > 0) return null;
    const session = sessionId.safeParse(name);
    const at = seq.safeParse(Number(number));
    if (!session.success || !at.success || cursors.has(session.data)) return null;
    cursors.set(session.data, at.data);
  }
  return cursors.size > maxWatchedSessions ? null : cursors;
}

/** The cursor is unusable: read the session again. `seq` is where the stream continues. */
export const resync = z.looseObject({
  reason: z.enum(["ahead", "behind"]),
  seq,
  /** On a stream that watches several sessions. */
  sessionId: sessionId.optional(),
});
export type Resync = z.infer<typeof resync>;

/** The host's state, for people: it is not durable, so it has no seq. */
export const streamStatus = z.looseObject({
  code: z.string(),
  text: z.string().optional(),
  sessionId: sessionId.optional(),
});
export type StreamStatus = z.infer<typeof streamStatus>;

/** A row of the list is new, changed or gone. A hint: a reader that missed it reads the list. */
export const listHint = z.looseObject({ sessionId, session: sessionView.nullable() });
export type ListHint = z.infer<typeof listHint>;

const eventSession = z.looseObject({ sessionId });

export type StreamItem =
  | { readonly kind: "event"; readonly event: StoredEvent; readonly sessionId?: SessionId }
  | { readonly kind: "resync"; readonly resync: Resync }
  | { readonly kind: "status"; readonly status: StreamStatus }
  | { readonly kind: "list"; readonly hint: ListHint };

export function encodeEventSseFrame(event: StoredEvent): string {
  return encodeSseFrame({ id: String(event.seq), event: event.type, data: JSON.stringify(event) });
}

/** The same event on a tab's stream: it names its session, and its id contains every session's cursor. */
export function encodeWatchedSseFrame(
  session: SessionId,
  event: StoredEvent,
  cursors: Cursors,
): string {
  const data = JSON.stringify({ sessionId: session, ...event });
  return encodeSseFrame({ id: encodeCursors(cursors), event: event.type, data });
}

export function encodeResyncSseFrame(data: Resync): string {
  return encodeSseFrame({ event: "resync", data: JSON.stringify(data) });
}

export function encodeStatusSseFrame(data: StreamStatus): string {
  return encodeSseFrame({ event: "status", data: JSON.stringify(data) });
}

export function encodeListSseFrame(data: ListHint): string {
  return encodeSseFrame({ event: "list", data: JSON.stringify(data) });
}

/** `null` for a frame this version does not understand: readers skip it. */
export function decodeSseFrame(frame: SseFrame): StreamItem | null {
  const data = parseJson(frame.data);
  // Only durable frames have an id, so an event type can never be mistaken for a message of the stream itself.
  if (frame.id !== undefined) return decodeEventSseFrame(data);
  switch (frame.event) {
    case "resync": {
      const parsed = resync.safeParse(data);
      return parsed.success ? { kind: "resync", resync: parsed.data } : null;
    }
    case "status": {
      const parsed = streamStatus.safeParse(data);
      return parsed.success ? { kind: "status", status: parsed.data } : null;
    }
    case "list": {
      const parsed = listHint.safeParse(data);
      return parsed.success ? { kind: "list", hint: parsed.data } : null;
    }
    default:
      return null;
  }
}

function decodeEventSseFrame(data: unknown): StreamItem | null {
  const event = storedEvent.safeParse(data);
  if (!event.success) return null;
  const watched = eventSession.safeParse(data);
  if (!watched.success) return { kind: "event", event: event.data };
  const { sessionId: session } = watched.data;
  return { kind: "event", event: event.data, sessionId: session };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
