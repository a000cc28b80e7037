import { type SessionView, roleOf, type Seq, type StoredEvent } from "@holdfast/protocol";
import type { ListedPage, SessionPage, JournalEvent } from "../ports/reads.ts";
import type { SessionRow } from "../ports/rows.ts";

/** A session as a client sees it: what is for the engine alone stays behind. */
export function viewSession(row: SessionRow): SessionView {
  const { ranges: _, openDeltas: __, origin, tags, ...shown } = row;
  return { ...shown, tags: [...tags], ...(origin !== null && { origin }) };
}

const encoder = new TextEncoder();

export function encodeSessionPage({ sessions, next }: SessionPage): ListedPage {
  return { json: encoder.encode(JSON.stringify(sessions.map(viewSession))), next };
}

/**
 * Puts deltas together that say more of the same, in the order of their numbers. Nothing of what a fold or a view makes of
 * them is lost: what they say, the numbers that they have, and when how much was said.
 */
export function joinDeltas(deltas: Iterable<StoredEvent>): JournalEvent[] {
  const joined: JournalEvent[] = [];
  let stretch: StoredEvent[] = [];
  for (const event of deltas) {
    const last = stretch.at(-1);
    if (last !== undefined && !continuesDelta(last, event)) {
      joined.push(joinSpan(stretch));
      stretch = [];
    }
    stretch.push(event);
  }
  if (stretch.length > 0) joined.push(joinSpan(stretch));
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

/** The same but for the text. What is more than a word or a number is never the same: it stays in an event of its own. */
function hasSameFields(before: StoredEvent["data"], data: StoredEvent["data"]): boolean {
  if (typeof before["text"] !== "string" || typeof data["text"] !== "string") return false;
  const names = Object.keys(data);
  return (
    names.length === Object.keys(before).length &&
    names.every((name) => name === "text" || data[name] === before[name])
  );
}

function joinSpan(stretch: readonly StoredEvent[]): JournalEvent {
  const [first] = stretch;
  const last = stretch.at(-1);
  if (first === undefined || last === undefined) throw new Error("There is nothing to be joined.");
  if (first === last) return first;
  const texts = stretch.map(deltaText);
  return {
    ...last,
    at: first.at,
    data: { ...last.data, text: texts.join("") },
    joined: {
      from: first.seq,
      times: stretch.map(({ at }) => at - first.at),
      lengths: texts.map((text) => text.length),
    },
  };
}

function deltaText({ data: { text } }: StoredEvent): string {
  return typeof text === "string" ? text : "";
}

/** The numbers that an event of a journal stands for, from and to. */
export function seqSpanOf({ seq, joined }: JournalEvent): readonly [Seq, Seq] {
  return [joined?.from ?? seq, seq];
}
