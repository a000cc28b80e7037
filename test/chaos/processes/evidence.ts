import { decodeEvent, type KnownEvent, type SessionId, type StoredEvent } from "@holdfast/protocol";

import type { TimedEntry } from "./history.ts";
import type { ClientResponse, Effect, ClientRequest } from "./protocol.ts";

/** Everything that the checks look at. */
export interface Evidence {
  readonly happened: readonly TimedEntry[];
  /** What is stored in the end, by session, in order. */
  readonly logs: ReadonlyMap<SessionId, readonly StoredEvent[]>;
  readonly effects: readonly Effect[];
}

export type Done = Extract<ClientResponse, { kind: "done" }>;

/** Acknowledged requests with their answers, late ones included. */
export function acknowledged({
  happened,
}: Evidence): { request: ClientRequest; door: string; told: Done }[] {
  const asked = new Map<number, { request: ClientRequest; door: string }>();
  const granted: { request: ClientRequest; door: string; told: Done }[] = [];
  for (const entry of happened) {
    if (entry.kind === "asked") asked.set(entry.number, entry);
    if (entry.kind !== "answered" || entry.answer.kind !== "done") continue;
    const before = asked.get(entry.number);
    if (before !== undefined) granted.push({ ...before, told: entry.answer });
  }
  return granted;
}

export function known(events: readonly StoredEvent[]): KnownEvent[] {
  return events.flatMap((event) => {
    const decoded = decodeEvent(event);
    return decoded.kind === "known" ? [decoded.event] : [];
  });
}

/** An entry with the content of a spill: it may come after its run has ended, and replace what was unknown. */
export function isFromSpill(event: KnownEvent): boolean {
  if (event.type !== "message.assistant" && event.type !== "message.tool") return false;
  const { above, superseded, parts } = event.data;
  return (
    above !== undefined ||
    superseded === true ||
    parts.some((part) => "recovered" in part && part.recovered === true)
  );
}

export type Settlement = Extract<
  KnownEvent,
  { type: "message.assistant" | "message.tool" | "notice.added" }
>;

/** For each seq of a settled delta: the entry that covers it, and its position among that entry's deltas. */
export function settlements(
  events: readonly StoredEvent[],
): ReadonlyMap<number, { by: Settlement; place: number }> {
  const settled = new Map<number, { by: Settlement; place: number }>();
  for (const by of known(events)) {
    if (by.type !== "message.assistant" && by.type !== "message.tool" && by.type !== "notice.added")
      continue;
    let place = 0;
    for (const [from, to] of by.data.deltas ?? [])
      for (let seq: number = from; seq <= to; seq += 1) settled.set(seq, { by, place: place++ });
  }
  return settled;
}

export function bySeq(events: readonly StoredEvent[]): ReadonlyMap<number, StoredEvent> {
  return new Map(events.map((event) => [event.seq, event]));
}

export function countBy<T>(items: Iterable<T>, key: (item: T) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(key(item), (counts.get(key(item)) ?? 0) + 1);
  return counts;
}
