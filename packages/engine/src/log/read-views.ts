import { type SessionView, roleOf, type Seq, type StoredEvent } from "@holdfast/protocol";
import type { ListedPage, SessionPage, JournalEvent } from "../ports/reads.ts";
import type { SessionRow } from "../ports/rows.ts";

/** A session as a client sees it, without the fields that only the engine uses. */
export function viewSession(row: SessionRow): SessionView {
  const { ranges: _, openDeltas: __, origin, tags, ...visible } = row;
  return { ...visible, tags: [...tags], ...(origin !== null && { origin }) };
}

const encoder = new TextEncoder();

export function encodeSessionPage({ sessions, next }: SessionPage): ListedPage {
  return { json: encoder.encode(JSON.stringify(sessions.map(viewSession))), next };
}

/**
 * Joins consecutive deltas of the same text. Folds and views lose nothing by it: the text, the seqs and the timing are
 * all kept.
 */
export function joinDeltas(deltas: Iterable<StoredEvent>): JournalEvent[] {
  const joined: JournalEvent[] = [];
  let span: StoredEvent[] = [];
  for (const event of deltas) {
    const last = span.at(-1);
    if (last !== undefined && !continuesDelta(last, event)) {
      joined.push(joinSpan(span));
      span = [];
    }
    span.push(event);
  }
  if (span.length > 0) joined.push(joinSpan(span));
  return joined;
}

function continuesDelta(last: StoredEvent, event: StoredEvent): boolean {
  return (
    event.seq === last.seq + 1 &&
    event.type === last.type &&
    event.v === last.v &&
    event.runId === last.runId &&
    event.quiet === last.quiet &&
    hasSameFields(last.data, event.data) &&
    roleOf(event) === "delta"
  );
}

/** Equal apart from the text. Objects never count as equal, so such a delta stays an event of its own. */
function hasSameFields(previous: StoredEvent["data"], data: StoredEvent["data"]): boolean {
  if (typeof previous["text"] !== "string" || typeof data["text"] !== "string") return false;
  const names = Object.keys(data);
  return (
    names.length === Object.keys(previous).length &&
    names.every((name) => name === "text" || data[name] === previous[name])
  );
}

function joinSpan(span: readonly StoredEvent[]): JournalEvent {
  const [first] = span;
  const last = span.at(-1);
  if (first === undefined || last === undefined)
    throw new Error("joinSpan needs at least one delta.");
  if (first === last) return first;
  const texts = span.map(deltaText);
  return {
    ...last,
    at: first.at,
    data: { ...last.data, text: texts.join("") },
    joined: {
      from: first.seq,
      times: span.map(({ at }) => at - first.at),
      lengths: texts.map((text) => text.length),
    },
  };
}

function deltaText({ data: { text } }: StoredEvent): string {
  return typeof text === "string" ? text : "";
}

/** The first and last seq that a journal event covers. */
export function seqSpanOf({ seq, joined }: JournalEvent): readonly [Seq, Seq] {
  return [joined?.from ?? seq, seq];
}
